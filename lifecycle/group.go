package lifecycle

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle/group"
)

// membership is the pod's part in a group that restarts as one (B-GRP). Decisions are
// package group's; here they are carried out:
//
//   - Regular containers are created and not started until the barrier is lifted.
//   - Each restart of all containers is for another attempt, unless the pod was at the
//     barrier already, and one begins when the attempt is outdated.
//   - The attempt is shown, as the pod's annotation, once nothing of an earlier one runs
//     (B-GRP-3).
type membership struct {
	Joined      bool           `json:"joined,omitzero"`
	Attempt     int32          `json:"attempt,omitzero"` // that the pod takes part in
	Open        bool           `json:"open,omitzero"`    // the barrier is lifted
	MembersHash string         `json:"company,omitzero"` // of the members that Attempt has begun with, if the group has no leader (B-GRP-20)
	Since       time.Time      `json:"since,omitzero"`   // when it took part in Attempt first
	Annotated   *int32         `json:"told,omitempty"`   // the attempt that the annotation has
	Mode        int32          `json:"mode,omitzero"`    // that the annotation has (B-GRP-26)
	Seen        group.Attempts `json:"seen,omitzero"`    // all that was ever heard of the group
	Alone       Because        `json:"alone,omitzero"`   // why the pod takes part in no group; zero: it does
	Members     int32          `json:"members,omitzero"` // how many the group has; 0: not known
	// Reminders is how often the pod has said in Attempt that its group is incomplete (B-GRP-16), Lack what it said last.
	Reminders int         `json:"reminders,omitzero"`
	Lack      *group.Lack `json:"lack,omitzero"`

	heard   bool       // something was, since this process began: until then a new pod joins nothing
	unknown Because    // why the group could not be read last; reported again by the next process
	size    group.Size // what was heard last; reported again to the next process
	mode    int32      // that the annotation is to have; reported again, too
	way     group.Way  // how that was heard; reported again, too
}

// GroupSeen says how far the pod's group is, or why that is not known. It may come again at
// any time, late, or overtaken by a newer one.
type GroupSeen struct {
	Attempts group.Attempts
	// Alone says why the pod takes part in no group although it asks for it, such as another
	// strategy of its JobSet (B-GRP-9); zero: it does.
	Alone Because
	// Unknown says why the group can't be read (B-GRP-10); zero: it was.
	Unknown Because
	// Size is what is known of the group's members.
	Size group.Size
	// Mode is what the pod's annotation is to have, of a member of a group without a leader (B-GRP-26).
	Mode int32
	// Way is by which way the members of such a group hear of each other.
	Way group.Way
}

// GroupAttempt is the attempt of its group that the pod's annotation has to say as of the last
// status; nil: none.
func (m *Machine) GroupAttempt() *int32 { return m.group.Annotated }

// inGroup says whether the pod takes part in a group.
func (m *Machine) inGroup() bool { return m.asks.leader != "" && m.group.Alone == (Because{}) }

func applyGroupSeen(s *step, f GroupSeen) {
	g := &s.group
	g.mode = max(g.mode, f.Mode)
	switch {
	case s.kept.Stage != Syncing:
		return
	case s.asks.leader == "":
		if s.asks.wrong != g.unknown.Text { // a pod that another agent has begun
			s.do(RecordEvent{Type: warning, Reason: reasonInvalidGroup, Message: s.asks.wrong + "; the pod restarts by itself"})
		}
		g.unknown = Because{Text: s.asks.wrong}
		return
	case f.Unknown != (Because{}):
		if f.Unknown != g.unknown {
			s.do(RecordEvent{Type: warning, Reason: "GroupUnknown", Message: f.Unknown.String() + "; containers that are to wait for the group do not start"})
			tell(s, Report{Subject: ofPod, Kind: "does-not-know-its-group", Because: f.Unknown, Rule: "B-GRP-10"})
		}
		g.unknown = f.Unknown
		return
	case f.Alone != (Because{}) && f.Alone != g.Alone:
		s.do(RecordEvent{Type: warning, Reason: "NotInGroup", Message: f.Alone.String() + "; the pod restarts by itself"})
		tell(s, Report{Subject: ofPod, Kind: "takes-part-in-no-group", Outcome: "restarts-by-itself", Because: f.Alone, Rule: "B-GRP-9"})
	}
	g.heard, g.unknown, g.Alone = true, Because{}, f.Alone
	g.Seen = g.Seen.Merge(f.Attempts)
	g.size, g.Members, g.way = f.Size, f.Size.Members, f.Way
}

// planGroup takes the pod from one attempt of its group to the next.
func planGroup(s *step) {
	if s.kept.Stage != Syncing || !s.inGroup() || !s.group.heard && !s.group.Joined {
		return
	}
	d := group.Decide(s.member(), s.group.Seen)
	because := Because{Kind: BecauseKind(d.Because), Index: int(d.Of)}
	switch d.Do {
	case group.Join:
		takesPart(s, d.Attempt, because, d.Rule)
	case group.Leave:
		takesPart(s, d.Attempt, because, d.Rule)
		beginRestartAll(s, Because{Kind: "the-group-restarts", By: because.Kind, Index: because.Index}, false)
	case group.Start:
		s.group.Open, s.group.MembersHash = true, s.group.Seen.MembersHashIn(s.group.Attempt)
		tell(s, Report{Subject: ofPod, Kind: "starts-with-its-group", Because: because, Rule: d.Rule, GroupAttempt: new(s.group.Attempt)})
	case group.Run: // an adopted pod does not know with whom it has begun
		s.group.MembersHash = cmp.Or(s.group.MembersHash, s.group.Seen.MembersHashIn(s.group.Attempt))
	case group.Wait:
	}
	remindOfGroup(s)
}

// remindOfGroup says, rarely, that the pod waits for a group that is incomplete, if it is not the pod itself that the group
// waits for (B-GRP-16).
func remindOfGroup(s *step) {
	g := &s.group
	if !g.Joined || !slices.ContainsFunc(s.containers, s.atBarrier) {
		return
	}
	if g.Since.IsZero() { // of an adopted pod nobody knows it
		g.Since = s.now
	}
	said, next := group.Reminders(s.now.Sub(g.Since))
	s.due(g.Since.Add(next))
	if said <= g.Reminders {
		return
	}
	g.Reminders, g.Lack = said, g.lack()
	s.do(RecordEvent{Type: warning, Reason: "GroupIncomplete", Message: g.waiting().String() + "; the annotation " + s.asks.attemptKey() + " of its pods says who takes part"})
	tell(s, Report{Subject: ofPod, Kind: "waits-for-its-group", Because: g.waiting(), Rule: "B-GRP-16"})
}

// nextAttempt has the pod, all of whose containers restart, take part in the attempt that
// follows from it (B-GRP-6).
func nextAttempt(s *step, because Because) {
	if !s.inGroup() || !s.group.Joined {
		return
	}
	if next := group.Failed(s.member(), s.group.Seen); next != s.group.Attempt {
		takesPart(s, next, because, "B-GRP-6")
	}
}

// takesPart begins another attempt, at its barrier.
func takesPart(s *step, attempt int32, because Because, rule string) {
	s.group.Joined, s.group.Attempt, s.group.Open, s.group.Since = true, attempt, false, s.now
	s.group.MembersHash = ""
	s.group.Reminders, s.group.Lack = 0, nil
	tell(s, Report{Subject: ofPod, Kind: "takes-part", Because: because, Rule: rule, GroupAttempt: new(attempt)})
}

// member is how the pod stands in its group. One that is new in it has only left something
// behind if a regular container runs: the others need not wait at the barrier.
func (s *step) member() group.Member {
	g := &s.group
	ran := slices.ContainsFunc(s.containers, func(c *container) bool {
		return c.restartsWithAll() && (g.Joined || c.kind == regularContainer) && c.Position != absent && c.Position != creating && c.Position != created &&
			(c.Position != uncertain || c.ID != "") // its create had no answer: it was not started
	})
	return group.Member{Joined: g.Joined, Attempt: g.Attempt, Open: g.Open, Ran: ran && !s.restartAll.Active}
}

// atBarrier says whether a container may not start before its group does: a regular one that
// is created (B-GRP-5).
func (m *Machine) atBarrier(c *container) bool {
	return m.inGroup() && !m.group.Open && c.kind == regularContainer && c.Position == created
}

// annotateAttempt takes over what the annotation has to say, and says whether that is another
// attempt or mode than before: none is shown while something of an earlier attempt may run (B-GRP-3).
func (s *step) annotateAttempt() bool {
	g := &s.group
	news := g.Annotated != nil && g.mode > g.Mode
	if g.Joined && (g.Annotated == nil || *g.Annotated != g.Attempt) && !(s.restartAll.Active && slices.ContainsFunc(s.containers, func(c *container) bool {
		return c.restartsWithAll() && c.mayRun()
	})) {
		g.Annotated, news = new(g.Attempt), true
	}
	if news {
		g.Mode = max(g.Mode, g.mode)
	}
	return news
}

// groupWaiting is what a container shows that waits for its group.
func groupWaiting(s *step) v1.ContainerStateWaiting {
	return v1.ContainerStateWaiting{Reason: reasonWaitingForGroup, Message: s.group.waiting().String()}
}

// waiting says what the pod waits for at the barrier.
func (g *membership) waiting() Because {
	switch {
	case !g.Joined:
		return Because{Kind: "nothing-is-known-of-its-group"}
	case g.size.Differ != nil:
		return Because{Lack: g.lack()}
	case g.Lack != nil:
		return Because{Lack: g.Lack}
	case g.Members > 0:
		return Because{Kind: "attempt-begins-with-all-members", Index: int(g.Attempt), Text: strconv.Itoa(int(g.Members))}
	}
	return Because{Kind: "attempt-begins-with-all", Index: int(g.Attempt)}
}

// lack is what is known of the members that the attempt waits for.
func (g *membership) lack() *group.Lack { return &group.Lack{Attempt: g.Attempt, Size: g.size} }

// forGroup is about the barrier.
func (w *waits) forGroup(c *container) {
	g := &w.m.group
	wait := Wait{Subject: c.spec.Name, For: WaitGroup, Since: w.m.onWall(g.Since), Report: &Report{Because: g.waiting()}, Rule: "B-GRP-5"}
	var behind []group.Behind
	switch {
	case g.unknown != (Because{}):
		because := g.unknown
		because.Kind, because.By = "the-group-is-not-known", because.Kind
		wait.Report.Because, wait.Rule = because, "B-GRP-10"
	case g.size.Differ != nil:
		wait.Rule = "B-GRP-21"
	case g.Lack != nil:
		wait.Rule = "B-GRP-16"
	default:
		behind = g.size.Behind
	}
	if g.heard && w.m.asks.leader == LedByMembers {
		wait.Group = &GroupWait{Behind: behind, More: g.size.More, ByPods: g.size.ByPods, Way: g.way}
	}
	w.add(wait)
}

const (
	reasonWaitingForGroup = "WaitingForGroup"
	reasonInvalidGroup    = "InvalidGroup"
)

// adoptGroup takes over what the pod's annotation says of its group. If the restart of all
// containers was under way, it may be for an attempt that was not reported yet.
func (m *Machine) adoptGroup(pod *v1.Pod) {
	attempt, mode := groupAttemptAndMode(pod.Annotations[m.asks.attemptKey()])
	if m.asks.leader == "" || attempt == nil {
		return
	}
	g := &m.group
	g.Joined, g.Attempt, g.Annotated, g.Mode = true, *attempt, new(*attempt), mode
	if mode%2 == 1 { // it may have announced more (B-GRP-29)
		g.Seen.Previous, g.Mode = new(*attempt), mode+3
	}
	g.Open = slices.ContainsFunc(m.regulars(), func(c *container) bool { return c.mayRun() || c.Exit != nil })
	if g.Open && m.restartAll.Active {
		g.Attempt, g.Open = g.Attempt+1, false
	}
}
