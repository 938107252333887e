package why

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// waits tells what is waited for: one sentence for each cause, with those that wait only for
// it, failures first.
func (t *explainer) waits() {
	if t.Now == nil {
		return
	}
	var sentences []Sentence
	if t.Object {
		t.sentences = append(t.sentences, t.states()...)
	}
	for i := range t.Now.Waits {
		w := &t.Now.Waits[i]
		if follows(w) || t.hasCause(sentences, w) {
			continue
		}
		sentences = append(sentences, Sentence{Kind: KindWait, Subject: w.Subject, Others: t.sharing(w), At: w.Since, Rules: rules(w.Rule), Wait: w})
	}
	sentences = append(sentences, t.silentCauses()...)
	for i := range sentences {
		s := &sentences[i]
		s.Text = t.waitText(s)
		var waiting []string
		for _, name := range t.followers(s.Wait) {
			if !slices.Contains(s.Others, name) && name != s.Subject {
				waiting = append(waiting, name)
			}
		}
		if len(waiting) > 0 {
			s.Text += t.Say(plural(waiting, "; %s waits for that", "; %s wait for that"), t.list(waiting))
			s.Others = append(s.Others, waiting...)
		}
		s.Text += t.Word(".")
	}
	slices.SortStableFunc(sentences, func(a, b Sentence) int {
		return cmp.Or(cmp.Compare(rank(a.Wait), rank(b.Wait)), b.At.Compare(a.At))
	})
	t.sentences = append(t.sentences, sentences...)
}

func rules(rule string) []string {
	if rule == "" {
		return nil
	}
	return []string{rule}
}

// follows says that a wait only follows from another one, or from a container that runs.
func follows(w *lifecycle.Wait) bool {
	switch w.For {
	case lifecycle.WaitTurn, lifecycle.WaitSetup, lifecycle.WaitTarget:
		return true
	case lifecycle.WaitRestartAll, lifecycle.WaitSnapshot:
		return w.Subject != ofPod && w.Because == ""
	default:
	}
	return false
}

// rank puts what has failed first.
func rank(w *lifecycle.Wait) int {
	if w.Because != "" {
		return 0
	}
	return 1
}

// sharing are other containers that wait for the same: an image.
func (t *explainer) sharing(w *lifecycle.Wait) (names []string) {
	for _, other := range t.Now.Waits {
		if sameCause(w, &other) && other.Subject != w.Subject {
			names = append(names, other.Subject)
		}
	}
	return names
}

func sameCause(a, b *lifecycle.Wait) bool {
	if a.For != b.For {
		return false
	}
	switch a.For {
	case lifecycle.WaitImage, lifecycle.WaitImagePull, lifecycle.WaitImageRetry:
		return a.On == b.On
	default:
		return a.For == lifecycle.WaitRestartAll
	}
}

func (t *explainer) hasCause(before []Sentence, w *lifecycle.Wait) bool {
	return slices.ContainsFunc(before, func(s Sentence) bool { return sameCause(s.Wait, w) })
}

// followers are the containers that wait for nothing but the cause of w: until its subject
// has started or completed, or until what the pod lacks is there.
func (t *explainer) followers(w *lifecycle.Wait) (names []string) {
	for _, c := range t.Pod.Containers {
		if subject, setup := t.causeOf(c.Name); subject == w.Subject && (subject != ofPod || setup == w.For) {
			names = append(names, c.Name)
		}
	}
	return names
}

// causeOf follows a container's waits for its turn to the container that all of them are for,
// or to what the pod lacks; it returns nothing for a container that waits for neither.
func (t *explainer) causeOf(container string) (subject string, setup lifecycle.WaitFor) {
	for range len(t.Pod.Containers) + 1 {
		w := t.waitOf(container, lifecycle.WaitTurn, lifecycle.WaitTarget, lifecycle.WaitSetup)
		switch {
		case w == nil:
			return subject, ""
		case w.For == lifecycle.WaitSetup:
			return ofPod, lifecycle.WaitFor(w.On)
		}
		subject, container = w.On, w.On
	}
	return "", ""
}

// waitOf is a container's first wait of those kinds; nil: it has none.
func (t *explainer) waitOf(container string, kinds ...lifecycle.WaitFor) *lifecycle.Wait {
	for i, w := range t.Now.Waits {
		if w.Subject == container && (len(kinds) == 0 || slices.Contains(kinds, w.For)) {
			return &t.Now.Waits[i]
		}
	}
	return nil
}

// silentCauses are those that wait for nothing themselves: an init container that runs, or a
// setup of which no more is known.
func (t *explainer) silentCauses() (list []Sentence) {
	seen := map[string]bool{}
	for _, c := range t.Pod.Containers {
		subject, setup := t.causeOf(c.Name)
		key := subject + " " + string(setup)
		if subject == "" || seen[key] || t.hasOwnWait(subject, setup) {
			continue
		}
		seen[key] = true
		w := *t.waitOf(c.Name, lifecycle.WaitTurn, lifecycle.WaitTarget, lifecycle.WaitSetup)
		w.Subject, w.On, w.For = subject, "", setup
		if state := t.stateOf(subject); state != nil {
			w.Since = state.Since
		}
		list = append(list, Sentence{Kind: KindWait, Subject: subject, At: w.Since, Rules: rules(w.Rule), Wait: &w})
	}
	return list
}

// hasOwnWait says whether the cause has a wait of its own.
func (t *explainer) hasOwnWait(subject string, setup lifecycle.WaitFor) bool {
	return slices.ContainsFunc(t.Now.Waits, func(w lifecycle.Wait) bool {
		return w.Subject == subject && !follows(&w) && (subject != ofPod || w.For == setup)
	})
}

// waitText is what one cause is, without the full stop.
func (t *explainer) waitText(s *Sentence) string {
	if s.Subject == ofPod {
		return t.podWait(s.Wait)
	}
	return t.containerWait(s)
}

// work is a step that is under way, or has failed and is tried again.
type work struct{ doing, failing string }

// stepsOfPod are what the pod as a whole goes through.
var stepsOfPod = map[lifecycle.WaitFor]work{
	lifecycle.WaitCgroup:         {"The pod's cgroup is being made", "The pod's cgroup can't be made"},
	lifecycle.WaitVolumes:        {"The pod's volumes are being mounted", "The pod's volumes can't be mounted"},
	lifecycle.WaitClaims:         {"Drivers are preparing the devices of the pod's resource claims", "The devices of the pod's resource claims can't be prepared"},
	lifecycle.WaitNetwork:        {"The runtime has no network for the pod", "The runtime has no network for the pod"},
	lifecycle.WaitSandbox:        {"The pod's sandbox is being made", "The pod's sandbox can't be made"},
	lifecycle.WaitSandboxStop:    {"The pod's sandbox is being stopped", "The pod's sandbox can't be stopped"},
	lifecycle.WaitClaimsRelease:  {"Drivers are taking back the devices of the pod's resource claims", "The devices of the pod's resource claims can't be taken back"},
	lifecycle.WaitUnmount:        {"The pod's volumes are being unmounted", "The pod's volumes can't be unmounted"},
	lifecycle.WaitSandboxRemove:  {"The pod's sandbox is being removed from the runtime", "The pod's sandbox can't be removed from the runtime"},
	lifecycle.WaitCgroupRemove:   {"The pod's cgroup is being removed", "The pod's cgroup can't be removed"},
	lifecycle.WaitVolumesRefresh: {"The files of the pod's volumes are being updated", "The files of the pod's volumes can't be updated"},
	lifecycle.WaitSnapshot:       {"What the runtime has of the pod is being looked at", "What the runtime has of the pod can't be looked at"},
}

// podWait is what the pod as a whole waits for.
func (t *explainer) podWait(w *lifecycle.Wait) string {
	if step, is := stepsOfPod[w.For]; is {
		return t.working(work{t.Word(step.doing), t.Word(step.failing)}, w)
	}
	switch w.For {
	case lifecycle.WaitRestartAll:
		phases := map[string]string{"stop": "what runs is being stopped", "announce": "the status that tells of it is being written", "remove": "the old instances are being removed"}
		return t.Say("All containers are being restarted in place%s: %s", t.inBrackets(w.In(t.Say)), t.Word(phases[w.On])) + t.nextTry(w)
	case lifecycle.WaitReadinessGate:
		return t.Say("The pod is not Ready: its readiness gate %s is not open, %s", w.On, t.gateState(w.Value))
	case lifecycle.WaitCompletion:
		return t.Say(plural(strings.Split(w.On, ", "), "The pod is not Ready because containers have ended for good (%s); it ends when %s does", "The pod is not Ready because containers have ended for good (%s); it ends when %s do"), t.endedBeside(w), w.On)
	case lifecycle.WaitResize:
		return t.resizeWait(w)
	case journal.WaitScheduling:
		if w.On != "" {
			return t.Say("The pod has no node yet: it is not scheduled before others remove its scheduling gate %s", w.On)
		}
		return t.Word("The pod has no node yet") + t.ifSome(": %s", t.behind(w))
	case journal.WaitNode:
		return t.Say("The pod's node %s does not answer, so that no more is known than its object says (%s)", w.On, t.behind(w))
	case lifecycle.WaitFinalizers:
		return t.Say("The pod's object is still there because it has the finalizer %s, which others remove", w.On)
	default:
	}
	return t.otherWait("The pod", w)
}

// behind is what is behind a wait, in a sentence.
func (t *explainer) behind(w *lifecycle.Wait) string { return bare(w.In(t.Say)) }

// endedBeside are the containers that have ended for good while those run that a pod waits for, and how.
func (t *explainer) endedBeside(w *lifecycle.Wait) string {
	var ended []string
	for _, c := range t.Now.Containers {
		if c.Exit != nil && t.Pod.KindOf(c.Name) == "container" && !slices.Contains(strings.Split(w.On, ", "), c.Name) {
			ended = append(ended, lifecycle.Because{Container: c.Name, Code: c.Exit.Code, Reason: c.Exit.Reason}.In(t.Say))
		}
	}
	return cmp.Or(strings.Join(ended, t.Word(", ")), w.Because)
}

// otherWait is about a kind of wait that has no sentence of its own, as a newer lifepod may have kept one.
func (t *explainer) otherWait(subject string, w *lifecycle.Wait) string {
	return t.Say("%s waits for %s", t.Word(subject), w.For) + t.ifSome(" %s", w.On) + t.ifSome(": %s", t.behind(w)) + t.nextTry(w)
}

// gateState says how the condition of a readiness gate is.
func (w words) gateState(status string) string {
	if status == "" {
		return w.Word("nobody has set its condition yet")
	}
	return w.Say("its condition is %s", status)
}

func (t *explainer) resizeWait(w *lifecycle.Wait) string {
	switch w.On {
	case "Deferred":
		return t.Word("The resize has no room on the node yet") + t.inBrackets(t.behind(w)) + t.nextTry(w)
	case "Infeasible":
		return t.Say("The resize can't be done on this node: %s", t.behind(w))
	case "InProgress":
		return t.working(work{t.Word("The resize is being carried out"), t.Word("The resize can't be carried out")}, w)
	}
	return t.Word("The node is being asked whether it has room for the resize")
}

// working is a step that is under way, or has failed and is tried again.
func (t *explainer) working(step work, w *lifecycle.Wait) string {
	switch {
	case w.Because == "" && w.Until.IsZero():
		return step.doing + t.soFar(w.Since)
	case w.Because == "":
		return step.doing + t.soFar(w.Since) + t.Say("; that is given up at %s", t.when(w.Until))
	case w.Until.IsZero():
		return t.Say("%s again%s, after: %s", step.doing, t.soFar(w.Since), t.behind(w))
	}
	return step.failing + t.ifSome(": %s", t.behind(w)) + t.nextTry(w)
}

// nextTry says when it goes on; empty if nobody knows.
func (t *explainer) nextTry(w *lifecycle.Wait) string {
	if w.Until.IsZero() {
		return ""
	}
	return t.Say("; next try %s", t.when(w.Until))
}
