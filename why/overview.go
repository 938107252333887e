package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Trouble is what pods have in common that are not as they should be, or what is wrong with an object for which no pod speaks.
type Trouble struct {
	Version int           `json:"version"`
	Pods    []journal.Pod `json:"pods"`
	// Object is the kind and name of an object that is no pod, such as Deployment default/web; there are no Pods then.
	Object string `json:"object,omitzero"`
	// Standing is how the first of them is; Cause is what is behind it. Gone says that nothing of it is left.
	Standing string   `json:"standing"`
	Cause    Sentence `json:"cause"`
	Gone     bool     `json:"gone,omitzero"`
	// Owner has pods that fail, or wait, alike, and so are shown together; empty: what they wait for ends together.
	Owner string `json:"owner,omitzero"`

	badness int
	alike   string // equal for troubles that are shown together; empty: for none
}

// Overview says of all pods that are not as they should be what is behind it, the worst first: pods with one cause are shown
// together, and those of one owner whose containers fail alike. Pods that have succeeded, that are Ready and end nothing, or
// that are gone, unless they have failed lately, are as they should be. asked is how many pods there are.
func Overview(records []*journal.Record, now time.Time, language sentence.Language) (list []Trouble, asked int) {
	newest := map[string]*journal.Record{}
	for _, r := range records {
		if before := newest[nameOf(&r.Pod)]; before == nil || begun(before).Before(begun(r)) {
			newest[nameOf(&r.Pod)] = r
		}
	}
	for _, r := range records {
		t := newExplainer(r, now, language)
		replaced := t.over() && newest[nameOf(&r.Pod)] != r
		if bad := !replaced && !t.well(); bad {
			list = append(list, t.trouble())
		} else if t.over() {
			continue
		}
		asked++
	}
	slices.SortStableFunc(list, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(a.badness, b.badness), cmp.Compare(nameOf(&a.Pods[0]), nameOf(&b.Pods[0])))
	})
	return together(list), asked
}

func nameOf(p *journal.Pod) string { return p.Namespace + "/" + p.Name }

// begun is when a pod was begun with; zero: not known.
func begun(r *journal.Record) time.Time {
	if r.Pod.Created.IsZero() && len(r.Entries) > 0 {
		return r.Entries[0].At
	}
	return r.Pod.Created
}

// together joins troubles that are alike, at the place of the first.
func together(all []Trouble) (list []Trouble) {
	by := map[string]int{}
	for _, one := range all {
		if i, known := by[one.alike]; known && one.alike != "" {
			list[i].Pods = append(list[i].Pods, one.Pods...)
			continue
		}
		by[one.alike] = len(list)
		list = append(list, one)
	}
	return list
}

// How bad it is that a pod is as it is.
const (
	worstUnled = iota
	worstFailing
	worstFailed
	worstEnding
	worstWaiting
)

// Urgent says that something fails or has failed, or that nobody leads a pod; else it ends, or waits.
func (t *Trouble) Urgent() bool { return t.badness <= worstFailed }

// trouble says what is wrong with a pod.
func (t *explainer) trouble() Trouble {
	e := t.explain()
	one := Trouble{Version: plain.JSONVersion, Pods: []journal.Pod{t.Pod}, Standing: e.Standing, Gone: t.over() && !t.lingers(), badness: worstWaiting}
	if len(e.Sentences) > 0 && e.Sentences[0].Kind != KindLeft {
		one.Cause = e.Sentences[0]
	}
	find := func(is func(Sentence) bool) (at int) {
		if at = slices.IndexFunc(e.Sentences, is); at >= 0 {
			one.Cause = e.Sentences[at]
		}
		return at
	}
	switch {
	case t.abandoned():
		one.badness = worstUnled
	case t.Now.Phase == "Failed" && !t.lingers():
		one.badness = worstFailed
		find(func(s Sentence) bool { return s.Kind == KindExit })
	case find(func(s Sentence) bool { return s.Kind == KindWait && s.Wait.Because != "" }) >= 0:
		one.badness = worstFailing
	case t.ending() || !t.Now.Deleting.IsZero():
		one.badness = worstEnding
	}
	one.alike, one.Owner = t.alike(&one.Cause)
	return one
}

// alike is equal for causes that pods have together: waits that end together, or what befalls an owner's pods alike.
func (t *explainer) alike(cause *Sentence) (key, owner string) {
	w := cmp.Or(cause.Wait, &lifecycle.Wait{})
	switch w.For {
	case lifecycle.WaitImage, lifecycle.WaitImagePull, lifecycle.WaitImageRetry:
		return "image\x00" + w.On, ""
	case journal.WaitNode:
		return string(w.For) + "\x00" + w.On, ""
	case lifecycle.WaitNetwork, journal.WaitScheduling:
		return string(w.For) + "\x00" + w.Because, ""
	default:
	}
	if t.Pod.Owner == "" || cause.Kind == "" || cause.Kind == KindUnled {
		return "", ""
	}
	how := ""
	if c := t.stateOf(cause.Subject); c != nil && c.Exit != nil {
		how = fmt.Sprint(c.Exit.Code, c.Exit.Reason)
	}
	return strings.Join([]string{t.Pod.Namespace, t.Pod.Owner, string(cause.Kind), cause.Subject, string(w.For), w.On, how}, "\x00"), t.Pod.Owner
}
