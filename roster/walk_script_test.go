package roster

import (
	"maps"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/pressure"
)

// script is what happens in both lives of a node: nothing whose outcome depends on what comes
// first, or on how long something takes.
type script struct {
	rt      *rapid.T
	made    int                  // pods so far
	labels  map[string]string    // of the Node, as the API server has it
	lacks   map[types.UID]bool   // pods for which there are no devices
	uses    map[types.UID]uint64 // how much of what is short
	chapter chapter
}

// chapter is a part of a life at whose end nothing is left to do.
type chapter struct {
	name   string
	inputs []input
	kept   bool     // no checkpoint is lost
	ghosts bool     // the API server may tell of pods that have gone
	not    []string // faults that would change what comes of the inputs
}

// input is what happens in a life, whatever else does.
type input func(*walk)

// What pods ask for, in thousandths: six of size 1 fit into a node beside all others, never seven.
const (
	onePart   = 600
	ofStatic  = 90
	ofSpecial = 1
)

func newScript(rt *rapid.T) *script {
	s := &script{rt: rt, lacks: map[types.UID]bool{}, uses: map[types.UID]uint64{}}
	if rapid.Bool().Draw(rt, "the Node has the label") {
		s.labels = map[string]string{"disk": ""}
	}
	return s
}

// leavesOut says whether a fault is none of a script's: by a rule it changes what comes of the
// inputs. A pod without devices is refused for good (A-DEV-5), a pod of which nothing is known
// goes first (B-EVI-7).
func (s *script) leavesOut(fault string) bool {
	if s == nil {
		return false
	}
	switch fault {
	case "devices are refused", "one pod is not measured", "containers have ended", "worker ends":
		return true
	}
	return slices.Contains(s.chapter.not, fault)
}

// next draws the next chapter for what the node has.
func (s *script) next(w *scripted) {
	s.chapter = chapter{}
	waits, shut := w.resizeWaits(), w.m.shutdown.stage != notShuttingDown
	switch kind := w.draw(15, "chapter"); {
	case shut && kind%2 == 0:
		s.chapter = chapter{name: "a shutdown is cancelled", inputs: []input{func(w *walk) { w.post(ShutdownCancelled{}) }}}
	case kind < 5:
		s.chapter = s.goes(w, waits)
	case kind == 5 && !waits: // the resize would get the place of a victim
		s.chapter = s.criticalComes(w)
	case kind == 6 && !waits:
		s.chapter = s.takesPlace(w)
	case kind == 7 || kind == 8:
		s.chapter = s.resizes(w, waits)
	case kind == 9 && !shut:
		s.chapter = s.memoryIsShort(w)
	case kind == 10 && w.draw(3, "shuts down") == 0 && !shut:
		s.chapter = chapter{name: "a shutdown", inputs: []input{func(w *walk) { w.post(ShutdownBegan{}) }}}
	}
	if len(s.chapter.inputs) == 0 {
		s.chapter = s.comes(w, shut)
	}
	s.chapter.kept = s.chapter.kept || waits
	if shut || s.chapter.name == "a shutdown" || s.chapter.name == "a shutdown is cancelled" {
		s.chapter.not = append(s.chapter.not, "agent killed") // the next agent knows of no shutdown
	}
}

// comes has pods come: of the API in the order of their creation, in which they are admitted
// after a kill, too (A-SYNC-1).
func (s *script) comes(w *scripted, shut bool) chapter {
	c := chapter{name: "pods come"}
	for range 1 + w.draw(4, "pods") {
		c.inputs = append(c.inputs, comes(s.randomPod(w, shut)))
	}
	return c
}

// comes has the source of a pod have it, unless it has one of that UID.
func comes(pod *v1.Pod) input {
	source := API
	if lifecycle.Static(pod) {
		source = File
	}
	return func(w *walk) {
		if w.wants[pod.UID] == nil {
			delete(w.finishes, pod.UID)
			w.wanted(source, pod)
		}
	}
}

// randomPod draws a pod: of those that compete for room all are of the API and of equal rank.
func (s *script) randomPod(w *scripted, shut bool) *v1.Pod {
	kind := w.draw(8, "kind of pod")
	if kind < 2 && !shut {
		uid := []types.UID{"db-1", "web-1", "web-2", "web-3"}[w.draw(4, "static pod")]
		pod := s.pod(w, File, string(uid[:len(uid)-2]), uid, ofStatic)
		if uid == "db-1" {
			pod.Spec.Priority = new(criticalPriority)
		}
		return pod
	}
	uid := types.UID("api-" + strconv.Itoa(s.made+1))
	switch kind {
	case 2:
		pod := s.pod(w, API, string(uid), uid, ofSpecial)
		pod.Spec.NodeSelector = map[string]string{"disk": ""}
		return pod
	case 3:
		pod := s.pod(w, API, string(uid), uid, ofSpecial)
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{gpu: resource.MustParse("1")}
		s.lacks[uid] = w.draw(4, "lacks devices") == 0
		return pod
	}
	pod := s.pod(w, API, string(uid), uid, onePart*int64(1+w.draw(3, "size")))
	if w.draw(4, "important") == 0 {
		pod.Spec.Priority = new(int32(1000))
	}
	return pod
}

// pod makes a pod that is created later than all before it.
func (s *script) pod(w *scripted, source Source, name string, uid types.UID, thousandths int64) *v1.Pod {
	s.made++
	pod := podOf(source, name, uid)
	pod.CreationTimestamp = metav1.Time{Time: start.Add(time.Duration(s.made) * time.Second)}
	pod.Spec.TerminationGracePeriodSeconds = new([]int64{0, 5, 30}[w.draw(3, "grace")])
	if source == API && thousandths >= onePart && w.draw(3, "as a whole") == 2 {
		pod.Spec.Containers[0].Resources.Requests = cpus("100m")
		pod.Spec.Resources = &v1.ResourceRequirements{}
	}
	asks(pod).Requests = thousandthsOf(thousandths)
	s.uses[uid] = uint64(w.draw(4, "usage"))
	return pod
}

func thousandthsOf(cpu int64) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI)}
}

// criticalComes has one pod come that may preempt another; one of those that are of size 1 at
// least is always enough.
func (s *script) criticalComes(w *scripted) chapter {
	uid := types.UID("api-" + strconv.Itoa(s.made+1))
	pod := s.pod(w, API, string(uid), uid, onePart)
	pod.Spec.Priority = new(criticalPriority)
	return chapter{name: "a critical pod comes", inputs: []input{comes(pod)}}
}

// takesPlace has a pod removed, and another one come that may need its place.
func (s *script) takesPlace(w *scripted) chapter {
	uids := w.competing()
	if len(uids) == 0 {
		return chapter{}
	}
	gone := uids[w.draw(len(uids), "removed")]
	uid := types.UID("api-" + strconv.Itoa(s.made+1))
	pod := s.pod(w, API, string(uid), uid, onePart*int64(1+w.draw(3, "size")))
	return chapter{name: "a pod takes another's place", kept: true, not: []string{"reboot"}, inputs: []input{func(w *walk) { w.unwanted(gone) }, comes(pod)}}
}

// competing are the pods of the API that run, may be resized and are no critical ones.
func (w *walk) competing() []types.UID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.workers)), func(uid types.UID) bool {
		want := w.wants[uid]
		return want == nil || want.source != API || lifecycle.Terminal(w.workers[uid].status.Phase) ||
			lifecycle.Critical(want.pod) || cpuOf(want.pod).MilliValue() < onePart
	})
}

// resizes has one pod asked to take another size; while a pod waits for room, only that one:
// who gets what is freed would depend on how much is freed at once.
func (s *script) resizes(w *scripted, waits bool) chapter {
	uids := w.competing()
	if waits {
		uids = slices.DeleteFunc(uids, func(uid types.UID) bool { return !w.wantsResize(w.workers[uid]) })
	}
	if len(uids) == 0 {
		return chapter{}
	}
	return chapter{
		name: "a resize", kept: true,
		inputs: []input{resized(uids[w.draw(len(uids), "resized")], int64(1+w.draw(7, "size")))},
	}
}

func resized(uid types.UID, parts int64) input {
	return func(w *walk) {
		pod := w.wants[uid].pod.DeepCopy()
		pod.Generation++
		asks(pod).Requests = thousandthsOf(parts * onePart)
		w.wanted(API, pod)
	}
}

// memoryIsShort has the node evict one pod: always the same one, if all run, and if none of
// them has panicked, which is not waited for (B-EVI-3).
func (s *script) memoryIsShort(w *scripted) chapter {
	if len(w.competing()) == 0 {
		return chapter{}
	}
	level := levels[pressure.Memory][w.draw(2, "level")]
	return chapter{
		name: "memory is short", kept: true, not: []string{"worker panics", "reboot", "runtime loses a pod while no agent runs"},
		inputs: []input{func(w *walk) {
			w.left[pressure.Memory] = level
			w.post(w.measures())
		}},
	}
}

// goes has pods go, or become smaller. What they give back can only be had by one resize that
// waits, if by any.
func (s *script) goes(w *scripted, waits bool) chapter {
	c := chapter{name: "pods go", ghosts: !waits}
	uids := slices.Sorted(maps.Keys(w.wants))
	competing := w.competing()
	for range 1 + w.draw(3, "pods") {
		if len(uids) == 0 {
			break
		}
		i := w.draw(len(uids), "goes")
		uid := uids[i]
		uids = slices.Delete(uids, i, i+1)
		c.inputs = append(c.inputs, s.goesOne(w, uid, slices.Contains(competing, uid)))
	}
	return c
}

func (s *script) goesOne(w *scripted, uid types.UID, competes bool) input {
	want := w.wants[uid]
	runs := w.m.positionOf(uid) == Living && !lifecycle.Terminal(w.workers[uid].status.Phase)
	how := w.draw(4, "how it goes")
	switch allocated := cpuOf(want.pod).MilliValue() / onePart; {
	case how == 0 && runs && (want.source == API || uid == "db-1"):
		return func(w *walk) { w.finishes[uid] = true }
	case how == 1 && competes && allocated > 1 && !w.wantsResize(w.workers[uid]):
		return resized(uid, 1)
	case how == 1 && runs && want.source == File && w.alone(uid):
		return func(w *walk) { // removed and added again (B-STA-7)
			w.unwanted(uid)
			w.wanted(File, want.pod)
		}
	case how == 2 && want.source == API:
		seconds := int64(w.draw(30, "seconds"))
		return func(w *walk) { w.deletes(uid, seconds) }
	}
	return func(w *walk) { w.unwanted(uid) }
}

// alone says that a static pod has no namesake.
func (w *walk) alone(uid types.UID) bool {
	for other, want := range w.wants {
		if other != uid && want.source == File && want.pod.Name == w.wants[uid].pod.Name {
			return false
		}
	}
	return true
}
