package roster

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// troublesAPI cuts the API server off or ends that, has it tell things twice, or go back in
// time: a list of one of its replicas may be older than what another has reported before.
func (w *walk) troublesAPI() {
	uids := slices.DeleteFunc(slices.Sorted(maps.Keys(w.versions)), func(uid types.UID) bool { return !w.mayGoBack(uid) })
	switch w.draw(4, "the API") {
	case 0:
		if w.cut {
			w.heals()
			return
		}
		w.cut = w.rarely(2, "API cut off")
	case 1:
		if uids := w.ofSource(API); len(uids) > 0 && w.rarely(1, "API tells twice") {
			uid := uids[w.draw(len(uids), "told twice")]
			w.wanted(API, w.wants[uid].pod)
		}
	default:
		if len(uids) > 0 && !w.cut && w.heard[API] && w.rarely(1, "API goes back in time") {
			w.travels(w.versions[uids[w.draw(len(uids), "goes back")]])
		}
	}
}

// travels has the API server tell an older version of an object, then the one that it has, or
// that it has none.
func (w *walk) travels(versions []*v1.Pod) {
	older := versions[w.draw(len(versions), "version")]
	uid := older.UID
	want := w.wants[uid]
	w.post(Wanted{Source: API, Pod: older})
	if want == nil {
		w.note("told of a pod that has gone", true)
		w.post(Unwanted{UID: uid})
		return
	}
	w.note("told of an older version", older.Generation < want.pod.Generation)
	w.post(Wanted{Source: API, Pod: want.pod})
}

// reachAPI notes what happens beyond a cut.
func (w *walk) reachAPI() {
	w.note("deleted while the API was cut off", w.cut && slices.ContainsFunc(w.held, func(f Fact) bool {
		wanted, is := f.(Wanted)
		return is && wanted.Pod.DeletionTimestamp != nil
	}))
	w.note(walks.State+"API cut off", w.cut)
}
