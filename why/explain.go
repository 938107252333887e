package why

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Explanation says why a pod is as it is.
type Explanation struct {
	Version int         `json:"version"`
	Pod     journal.Pod `json:"pod"`
	// At is the time that it was asked for; Of is the time that it is about: of the last change
	// that the journal has, if nobody leads the pod.
	At time.Time `json:"at"`
	Of time.Time `json:"of,omitzero"`
	// Standing is how the pod is, in one sentence, or of one Container (About) how that is. Well says that it is as it should be.
	Container string `json:"container,omitzero"`
	Standing  string `json:"standing"`
	Well      bool   `json:"well"`
	// Sentences are the causes: first what is waited for now, then what has happened, the
	// newest first.
	Sentences []Sentence `json:"sentences,omitzero"`

	containers map[string]standing
	others     bool // of other containers there is more to tell
}

// standing is how a container is.
type standing struct {
	text string
	well bool
}

// Sentence is one cause.
type Sentence struct {
	Kind Kind `json:"kind"`
	// Subject is the container that it is about, or "pod"; Others are those that wait for the
	// same thing.
	Subject string   `json:"subject"`
	Others  []string `json:"others,omitzero"`
	// At is when it began, or happened; zero: not known.
	At    time.Time `json:"at,omitzero"`
	Text  string    `json:"text"`
	Rules []string  `json:"rules,omitzero"` // of the contract
	// Container is Subject, if that is one. What follows is about its exit: Said is the last line that its process said, Action what
	// was done about it.
	Container    string            `json:"container,omitzero"`
	ExitCode     *int32            `json:"exitCode,omitzero"`
	Signal       int32             `json:"signal,omitzero"`
	Reason       string            `json:"reason,omitzero"`
	Said         string            `json:"said,omitzero"`
	Action       lifecycle.Outcome `json:"action,omitzero"`
	DelaySeconds float64           `json:"delaySeconds,omitzero"` // until then
	// Wait is what is waited for; Chain are the entries that led to it, oldest first.
	Wait  *lifecycle.Wait `json:"wait,omitzero"`
	Chain []journal.Entry `json:"chain,omitzero"`
}

// Kind is what a sentence tells.
type Kind string

// The kinds of sentences.
const (
	KindUnled     Kind = "unled"     // nobody leads the pod
	KindWait      Kind = "wait"      // what is waited for
	KindEnd       Kind = "end"       // why the pod ends, or has ended
	KindExit      Kind = "exit"      // how a container's instance ended, and what followed
	KindUnstarted Kind = "unstarted" // why a container of a pod that ends never started
	KindOOM       Kind = "oom"       // what a kill for memory meant
	KindRepeats   Kind = "repeats"   // a container that has ended several times
	// KindRestartsAll is about restarts of all containers.
	KindRestartsAll Kind = "restarts-all"
	KindState       Kind = "state" // how a container is, according to its pod's object alone
	KindLeft        Kind = "left"  // what the journal has not kept
	// KindObject is about an object of a cluster that is no pod.
	KindObject Kind = "object"
)

// ofPod is the subject of what is about the pod as a whole.
const ofPod = "pod"

// Explain says why the pod of a record is as it is at that time, which is shown in now's time
// zone, in a language. The record is not changed.
func Explain(record *journal.Record, now time.Time, language sentence.Language) Explanation {
	return newExplainer(record, now, language).explain()
}

func (t *explainer) explain() Explanation {
	t.unled()
	t.waits()
	past := t.past()
	slices.SortStableFunc(past, func(a, b Sentence) int { return b.At.Compare(a.At) })
	if failure, found := t.neverStarted(); found && t.ending() {
		t.sentences = append(t.sentences, failure)
	}
	t.sentences = append(t.sentences, past...)
	t.left()
	e := Explanation{Version: plain.JSONVersion, Pod: t.Pod, At: t.now, Standing: plain.Line(t.standing()), Well: t.well(), Sentences: t.sentences, containers: map[string]standing{}}
	if t.Now != nil {
		e.Of = t.Now.At
		for i := range t.Now.Containers {
			e.containers[t.Now.Containers[i].Name] = t.standingOf(&t.Now.Containers[i])
		}
	}
	for i := range e.Sentences {
		s := &e.Sentences[i]
		if s.Text = plain.Line(s.Text); s.Subject != ofPod {
			s.Container = s.Subject
		}
	}
	return e
}

// About speaks of one container of the pod: it leaves out the sentences that have nothing to do with it.
func (e Explanation) About(container string) Explanation {
	all := e.Sentences
	e.Sentences = slices.DeleteFunc(slices.Clone(all), func(s Sentence) bool {
		return s.Subject != ofPod && s.Subject != container && !slices.Contains(s.Others, container)
	})
	e.Container, e.others = container, len(all) > len(e.Sentences)
	if of, known := e.containers[container]; known {
		e.Standing, e.Well = of.text, of.well
	}
	return e
}

// Nothing is what there is to tell if there are no sentences.
func (e Explanation) Nothing(language sentence.Language) string {
	text := language.Word("It is as it should be: it waits for nothing, and nothing of it was restarted.")
	if e.others {
		text += language.Word(" Of other containers of its pod there is more to tell.")
	}
	return text
}

// explainer makes the sentences of one record.
type explainer struct {
	words
	*journal.Record
	now       time.Time
	byID      map[int64]int // index in Entries
	sentences []Sentence
}

func newExplainer(record *journal.Record, now time.Time, language sentence.Language) *explainer {
	t := &explainer{words: words{language}, Record: record, now: now, byID: make(map[int64]int, len(record.Entries))}
	for i, e := range record.Entries {
		t.byID[e.ID] = i
	}
	return t
}

// over says whether nothing of the pod is left on its node.
func (t *explainer) over() bool { return t.Now != nil && t.Now.Stage == lifecycle.Gone.String() }

// lingers says whether the object of a pod that is over is still there.
func (t *explainer) lingers() bool { return t.Now != nil && t.Now.Held() }

// abandoned says whether nobody leads the pod, so that nothing goes on.
func (t *explainer) abandoned() bool {
	return !t.Living && !t.Object && !t.over() && (t.Now != nil || len(t.Entries) > 0)
}

// lately is how long a pod that has failed, and is gone, is not as it should be.
const lately = time.Hour

// well says whether the pod is as it should be. Of one that is gone that is so unless it has failed lately, without being
// asked to end.
func (t *explainer) well() bool {
	switch {
	case t.Now == nil || t.Now.Phase == string(v1.PodSucceeded) && !t.lingers():
		return true
	case t.over():
		i := slices.IndexFunc(t.Entries, endsPod)
		asked := i >= 0 && t.Entries[i].Says().Kind == lifecycle.KindStopRequested
		return !t.lingers() && (asked || t.Now.Phase != string(v1.PodFailed) || t.now.Sub(t.Now.At) > lately)
	}
	return t.Now.Ready && !t.ending() && !t.abandoned()
}

// ending says whether the pod does not start anything any more.
func (t *explainer) ending() bool { return t.Now != nil && t.Now.Stage != lifecycle.Syncing.String() }

// unled says that nobody leads the pod.
func (t *explainer) unled() {
	if !t.abandoned() {
		return
	}
	last := t.lastKnown()
	text := t.Word("Nobody leads this pod: its lifepod ended without it")
	if !last.IsZero() {
		text += t.Say(", at %s at the earliest; what follows is as of then", t.clock(last))
	}
	t.sentences = append(t.sentences, Sentence{Kind: KindUnled, Subject: ofPod, At: last, Text: text + t.Word(".")})
}

// left says that the journal has given up entries: what is reported may lack something.
func (t *explainer) left() {
	if t.Left == 0 {
		return
	}
	var from, to time.Time
	for i := 1; i < len(t.Entries); i++ {
		if before := t.Entries[i-1]; t.Entries[i].ID > before.ID+1 {
			to = t.Entries[i].At
			if from.IsZero() {
				from = before.At
			}
		}
	}
	text := t.Say("The journal has not kept %d entries of what happened from %s to %s.", t.Left, t.clock(from), t.clock(to))
	t.sentences = append(t.sentences, Sentence{Kind: KindLeft, Subject: ofPod, At: from, Text: text})
}

// lastKnown is the time of the last thing that the journal has of the pod.
func (t *explainer) lastKnown() (last time.Time) {
	if t.Now != nil {
		last = t.Now.At
	}
	if n := len(t.Entries); n > 0 && t.Entries[n-1].At.After(last) {
		last = t.Entries[n-1].At
	}
	return last
}

// standing is how the pod is.
func (t *explainer) standing() string {
	name := t.Pod.Namespace + "/" + t.Pod.Name
	if t.Now == nil {
		return t.Say("Of %s nothing is known yet.", name)
	}
	since := func(name string) string {
		if at := t.milestone(name).At; !at.IsZero() {
			return t.Say(" since %s", t.clock(at))
		}
		return ""
	}
	phase, at := cmp.Or(t.Now.Phase, t.Word("not known")), t.clockOf(t.Now.At)
	switch {
	case t.lingers():
		return t.Say("%s has ended%s, and its object is still there; its phase is %s.", name, t.ifSome(" at %s", at), phase)
	case t.over() && slices.ContainsFunc(t.Entries, func(e journal.Entry) bool { return e.Says().Kind == lifecycle.KindRejected }):
		return t.Say("%s was rejected by its node%s; its phase is %s.", name, t.ifSome(" at %s", at), phase) // for as long as it is there
	case t.over():
		return t.Say("%s is gone%s; its phase was %s.", name, t.ifSome(" since %s", at), phase)
	case lifecycle.Terminal(v1.PodPhase(phase)):
		return t.Say("%s is %s%s.", name, phase, since("phase"))
	case t.ending():
		return t.Say("%s is being ended; its phase is %s.", name, phase)
	case t.Now.Ready:
		return t.Say("%s is %s and Ready%s.", name, phase, since("Ready"))
	case phase == "Pending":
		return t.Say("%s is %s%s.", name, phase, since("phase"))
	}
	return t.Say("%s is %s and not Ready%s.", name, phase, since("Ready"))
}

// standingOf is how a container is.
func (t *explainer) standingOf(c *journal.ContainerNow) (s standing) {
	name := t.Say("%s of %s", c.Name, t.Pod.Namespace+"/"+t.Pod.Name)
	switch {
	case c.State == "running":
		s.well = c.Ready || t.Pod.KindOf(c.Name) == "init" || t.Pod.KindOf(c.Name) == "ephemeral"
		s.text = t.Say(map[bool]string{true: "%s is running%s", false: "%s is running and not ready%s"}[s.well], name, t.ifSome(" since %s", t.clockOf(c.Since)))
	case c.State == "terminated" && c.Exit != nil:
		s.well = c.Exit.Code == 0
		s.text = t.Say("%s has ended with exit %d%s", name, c.Exit.Code, t.ifSome(" at %s", t.clockOf(c.Since)))
	default:
		s.text = t.Say("%s is %s%s", name, c.State, t.ifSome(": %s", c.Reason))
	}
	s.text = plain.Line(s.text + t.Say(", restarted %d times.", c.Restarts))
	s.well = s.well && !t.abandoned()
	return s
}

// milestone is the newest change of that name of the pod's status; zero: there is none.
func (t *explainer) milestone(name string) journal.Entry {
	for _, e := range slices.Backward(t.Entries) {
		if e.Kind == journal.Milestone && e.Name == name && e.Container == "" {
			return e
		}
	}
	return journal.Entry{}
}

// stateOf is how a container is; nil: that is not known.
func (t *explainer) stateOf(container string) *journal.ContainerNow {
	if t.Now == nil {
		return nil
	}
	for i := range t.Now.Containers {
		if t.Now.Containers[i].Name == container {
			return &t.Now.Containers[i]
		}
	}
	return nil
}
