// Package group decides what one member of a group does whose pods restart as one
// (B-GRP): it takes part in attempts, one after the other, and waits in each at the
// barrier until all members are there. The group's leader, such as the JobSet
// controller, counts the members and tells how far the group is. Where there is no such
// controller, that follows from the members (Peers): one of their nodes leads (Leader), to
// which the others report (Follower), or each node works it out from the members' pods.
//
//	        Join                    Start
//	(new) ────────▶ at the barrier ────────▶ runs
//	                   ▲   │ ▲                 │ it fails, or the attempt is outdated
//	                   └───┘ └─────────────────┘
//	         outdated: the next attempt        Leave: the next attempt, once all has ended
package group

// Attempts are how far a group has come, as its leader tells.
type Attempts struct {
	// Current is the attempt whose members may run; nil: none may yet.
	Current *int32 `json:"current,omitempty"`
	// Previous is the newest attempt that is outdated, with all before it; nil: none is.
	Previous *int32 `json:"previous,omitempty"`
	// MembersHash is of the members that Current begins with; empty: it has a leader (B-GRP-20).
	MembersHash string `json:"company,omitempty"`
}

// Merge is what is known from two observations of a group, in whichever order they were
// made: attempts only rise (B-GRP-8).
func (a Attempts) Merge(b Attempts) Attempts {
	membersHash := a.MembersHash
	if membersHash == "" || b.Current != nil && (a.Current == nil || *b.Current > *a.Current) {
		membersHash = b.MembersHash
	}
	return Attempts{Current: newest(a.Current, b.Current), Previous: newest(a.Previous, b.Previous), MembersHash: membersHash}
}

// MembersHashIn is of the members that an attempt begins, or has begun, with; empty: that is not known.
func (a Attempts) MembersHashIn(attempt int32) string {
	if a.Current == nil || *a.Current != attempt {
		return ""
	}
	return a.MembersHash
}

// Next is the attempt that a member takes part in which begins anew: the first one after
// all that have begun or are outdated (B-GRP-2).
func (a Attempts) Next() int32 {
	next := int32(0)
	for _, known := range []*int32{a.Current, a.Previous} {
		if known != nil {
			next = max(next, *known+1)
		}
	}
	return next
}

func newest(a, b *int32) *int32 {
	if a == nil || b != nil && *b > *a {
		a = b
	}
	if a == nil {
		return nil
	}
	return new(*a)
}

// Member is where one member of a group stands.
type Member struct {
	Joined  bool  // it takes part in Attempt
	Attempt int32 // never falls
	Open    bool  // its barrier was lifted for this attempt
	// Ran says that something of the pod has run: it leaves its attempt by a restart.
	Ran bool
}

// Do is what a member does next.
type Do int

const (
	// Wait: at the barrier.
	Wait Do = iota
	// Run: the barrier is lifted, and there is nothing to do.
	Run
	// Start lifts the barrier.
	Start
	// Join takes part in Decision.Attempt, at its barrier. Nothing has run in the pod.
	Join
	// Leave restarts the pod in place for Decision.Attempt.
	Leave
)

func (d Do) String() string { return [...]string{"wait", "run", "start", "join", "leave"}[d] }

// Decision is what a member does next, and why.
type Decision struct {
	Do      Do
	Attempt int32 // of Join and Leave
	Because Reason
	Of      int32 // the attempt that Because is about; 0: or none
	Rule    string
}

// Reason is why a member does what it does, as a word that doesn't change.
type Reason string

// Reasons that a member does what it does.
const (
	IsNew        Reason = "is-new-in-the-group"
	Outdated     Reason = "attempt-is-outdated"
	BegunWithout Reason = "attempt-has-begun-without-it"
	AllTakePart  Reason = "all-take-part-in-attempt"
)

// Decide says what a member does as the group is now. It looks at the state alone: it does
// not matter which fact came first, nor how often one came.
func Decide(m Member, now Attempts) Decision {
	switch {
	case !m.Joined:
		return m.to(now.Next(), IsNew, 0, "B-GRP-2")
	case now.Previous != nil && *now.Previous >= m.Attempt:
		return m.to(now.Next(), Outdated, m.Attempt, "B-GRP-4")
	case now.Current != nil && *now.Current > m.Attempt:
		return m.to(now.Next(), BegunWithout, *now.Current, "B-GRP-4")
	case m.Open:
		return Decision{Do: Run}
	case now.Current != nil && *now.Current == m.Attempt:
		return Decision{Do: Start, Because: AllTakePart, Of: m.Attempt, Rule: "B-GRP-5"}
	}
	return Decision{Do: Wait, Rule: "B-GRP-5"}
}

// Failed is the attempt that a member takes part in after it has failed: one that was at the
// barrier stays there, of any other the whole group restarts (B-GRP-6).
func Failed(m Member, now Attempts) int32 {
	if m.Open {
		return max(m.Attempt+1, now.Next())
	}
	return max(m.Attempt, now.Next())
}

func (m Member) to(attempt int32, because Reason, of int32, rule string) Decision {
	d := Decision{Do: Join, Attempt: attempt, Because: because, Of: of, Rule: rule}
	if m.Ran {
		d.Do = Leave
	}
	return d
}
