package lifecycle

import (
	"slices"
	"time"
)

// apply compares a snapshot of the runtime with the state and repairs what lost
// events or lost answers broke. The snapshot does not judge what was acted on after it
// began.
func (f Observed) apply(s *step) {
	f.Began = s.own(f.Began)
	awaited := s.finish(&s.observing, f.Result)
	if f.Failure != nil || (!awaited && f.ID != 0) {
		return
	}
	s.unseen = false
	observeSandbox(s, f)
	for _, c := range s.containers {
		if c.op == 0 && c.touchedAt.Before(f.Began) {
			observeContainer(s, c, f)
		}
	}
	removeStrays(s, f)
	if awaited && s.kept.Stage == Terminated && len(f.Sandboxes) == 0 && !f.Began.Before(s.kept.Doubt) {
		s.kept.StraySandbox = false
	}
	if awaited {
		s.observing.retryAt = s.nextObserve(f.Began)
	}
}

// nextObserve is when to look again if something stays uncertain: at once if
// this snapshot was too old to judge it, else after a pause.
func (s *step) nextObserve(began time.Time) time.Time {
	since, any := s.uncertainSince()
	if s.kept.Stage == Terminated || (any && !since.After(began)) {
		return s.now.Add(s.options.UnavailableRetry)
	}
	return time.Time{}
}

func observeSandbox(s *step, f Observed) {
	b := &s.sandbox
	if b.op != 0 || !b.touchedAt.Before(f.Began) {
		return
	}
	switch b.State {
	case sandboxReady:
		i := slices.IndexFunc(f.Sandboxes, func(o ObservedSandbox) bool { return o.ID == b.ID })
		switch {
		case i < 0 || !f.Sandboxes[i].Ready:
			SandboxExited{SandboxID: b.ID}.apply(s)
		case !s.addressed(f.Sandboxes[i].IPs):
			loseSandbox(s, "sandbox has no address any more", unfitNoAddress)
		}
	case sandboxUncertain:
		adoptSandbox(s, f)
	}
}

// adoptSandbox looks for what an unanswered RunPodSandbox left behind. A sandbox that
// cannot be used is replaced like any lost one (A-SBX-1). If there is none, the next try
// uses another attempt number, because the runtime may still hold the old one's name.
func adoptSandbox(s *step, f Observed) {
	for _, o := range f.Sandboxes {
		if o.Attempt != s.sandbox.Attempt {
			continue
		}
		if o.Ready && s.addressed(o.IPs) {
			sandboxIsReady(s, o.ID, o.Attempt, o.IPs)
			s.sandbox.touchedAt = s.now // an older snapshot that comes later does not know it yet
			return
		}
		s.sandbox.State, s.sandbox.ID = sandboxLost, o.ID
		return
	}
	s.sandbox.State = sandboxNone
	s.sandbox.Attempt++
	s.sandbox.RetryAt = s.now.Add(s.options.UnavailableRetry)
}

// observeContainer compares one container with what the runtime has of it.
func observeContainer(s *step, c *container, f Observed) {
	switch c.Position {
	case running:
		observeRunning(s, c, f)
	case uncertain:
		adoptContainer(s, c, f)
	case created:
		if findByID(f, c.ID) == nil && s.kept.Stage < Terminated { // the final status does not change (B-FIN-2)
			dropInstance(s, c)
		}
	}
}

func findByID(f Observed, id string) *ObservedContainer {
	for i := range f.Containers {
		if f.Containers[i].ID == id {
			return &f.Containers[i]
		}
	}
	return nil
}

func observeRunning(s *step, c *container, f Observed) {
	o := findByID(f, c.ID)
	if o != nil {
		c.hear(o.Reported) // its event may have been lost
		if o.State == StateRunning && !o.StartedAt.IsZero() {
			c.begins(s, o.StartedAt)
		}
	}
	switch {
	case o == nil:
		lost(s, c)
	case o.State == StateExited:
		o.Exit.apply(s)
	case c.stopping.position == stopReturned: // a second, faster call may return before the first one's kill: look again
		c.stopping.position = stopDoubted
	case c.stopping.position == stopDoubted:
		c.stopping.position = stopToBeCalled
		stillRuns(s, c)
	case o.State == StateUnknown && s.kept.Stage == Syncing && !c.Ending && s.due(c.stopping.retryAt):
		stopUnknown(s, c)
	}
}

// stillRuns reports that the runtime called a container stopped although it still runs.
// The container is stopped again later (B-TRM-1).
func stillRuns(s *step, c *container) {
	c.stopping.untrue++
	c.stopping.retryAt = s.now.Add(s.options.RetryAfter)
	if s.stop.Force {
		c.stopping.retryAt = s.now.Add(s.options.UnavailableRetry)
	}
	tellRetry(s, Report{Subject: ofPod, Kind: "still-runs", On: c.spec.Name, Rule: "B-TRM-1"}, c.stopping.retryAt)
}

// adoptContainer finds the instance of an unanswered create or start: by its ID if known,
// else by name and attempt.
func adoptContainer(s *step, c *container, f Observed) {
	attempt := c.nextAttempt()
	i := slices.IndexFunc(f.Containers, func(o ObservedContainer) bool {
		return o.Name == c.spec.Name && (o.ID == c.ID || o.Attempt == attempt) && o.ID != c.exitedID() && !slices.Contains(s.kept.Strays, o.ID)
	})
	if i < 0 {
		dropInstance(s, c)
		c.NextBegun = c.Exit != nil
		c.RetryAt = later(c.RetryAt, s.now.Add(s.options.UnavailableRetry))
		c.Image.RetryAt = c.RetryAt
		return
	}
	o := f.Containers[i]
	if o.ID != c.ID {
		newInstance(s, c, o.ID)
	}
	c.hear(o.Reported)
	switch o.State {
	case StateCreated:
		c.Position = created
	case StateRunning:
		nowRunning(s, c)
		c.begins(s, o.StartedAt)
	case StateExited:
		o.Exit.apply(s)
	case StateUnknown:
		stopUnknown(s, c)
	}
}

// exitedID is the ID of the newest instance if it has exited; an unanswered call did not
// make that one.
func (c *container) exitedID() string {
	if c.Exit != nil {
		return c.ID
	}
	return ""
}

// stopUnknown stops an instance whose state the runtime itself does not know, before
// another is started (A-ACT-7). It ends like any killed container, with its preStop hook
// and its grace (A-HOOK-6); its exit decides what follows.
func stopUnknown(s *step, c *container) {
	c.Position = running
	killContainer(s, c, kill{
		Message:   `Container is in "unknown" state, try killing it before restart`,
		Deadline:  s.now.Add(s.specGrace()),
		Uncounted: true,
		report:    Report{Kind: KindUnknownState, Outcome: "stop-it-before-it-is-started-again", Rule: "A-ACT-7"},
	})
}

// removeStrays removes what the runtime has of this pod and the pod does not need:
// records of older instances, and what an abandoned call made after all. Nothing ever
// exists twice. The next lifepod must know of a removal: if it is carried out late, what was
// adopted would go.
func removeStrays(s *step, f Observed) {
	if len(s.kept.Strays) > 0 { // those that the runtime no longer has are forgotten
		s.kept.Strays = slices.DeleteFunc(slices.Clone(s.kept.Strays), func(id string) bool { return findByID(f, id) == nil })
	}
	for _, o := range f.Containers {
		c := s.containerNamed(o.Name)
		if c == nil || c.op != 0 || !c.touchedAt.Before(f.Began) || o.ID == c.ID || o.ID == c.PreviousID {
			continue
		}
		if !slices.Contains(s.kept.Strays, o.ID) {
			s.kept.Strays = append(slices.Clone(s.kept.Strays), o.ID)
		}
		s.do(RemoveContainer{ID: s.nextID(), Container: o.Name, ContainerID: o.ID, Attempt: o.Attempt})
	}
	if s.sandbox.op != 0 || !s.sandbox.touchedAt.Before(f.Began) {
		return
	}
	for _, o := range f.Sandboxes {
		if o.ID != s.sandbox.ID || s.release.sandbox.done {
			removeForgotten(s, o.ID)
		}
	}
}

// removeForgotten removes a sandbox that is not, or no longer, the pod's. Nobody waits
// for the answer; before the pod is gone, a snapshot must show that the sandbox is.
func removeForgotten(s *step, sandboxID string) {
	s.kept.StraySandbox = true
	s.do(RemoveSandbox{ID: s.nextID(), SandboxID: sandboxID})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Overtaken says whether somebody else has run the pod since the checkpoint was written,
// such as a kubelet in lifepod's place: the runtime has a sandbox or an instance that
// this machine had not begun. The checkpoint is then out of date: adopt the pod (Adopt),
// or what runs would be taken for strays. Only names and attempts of the snapshot count.
func (c Checkpoint) Overtaken(seen Observed) bool {
	for _, s := range seen.Sandboxes {
		if s.Attempt > c.Sandbox.Attempt {
			return true
		}
	}
	for _, o := range seen.Containers {
		for i := range c.Containers {
			if c.Containers[i].Name == o.Name && int64(o.Attempt) > c.Containers[i].lastBegun() {
				return true
			}
		}
	}
	return false
}

// lastBegun is the attempt of the newest instance that may exist. The next instance
// counts as soon as its creation begins, and also if that had no answer: for some seconds
// the runtime goes on with a create whose caller was killed.
func (c *container) lastBegun() int64 {
	if c.Exit != nil && (c.Position != exited || c.NextBegun) {
		return int64(c.RestartCount) + 1
	}
	return int64(c.RestartCount)
}
