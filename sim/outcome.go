package sim

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Life is what became of a pod.
type Life struct {
	Pod     *v1.Pod
	Seed    uint64
	Moments []Moment // whenever phase, readiness or restarts changed
	Doubles []Double // two instances of a container ran at the same time, which never happens
	Story   []Line
	Entries []journal.Entry // if they are wanted; their times go on evenly when the scenario sets the wall clock

	Gone  bool          // nothing of the pod is left
	Quiet bool          // nothing more would happen
	Until time.Duration // how long it was looked at
	At    time.Time     // the same by the wall clock
	End   lifecycle.End
	Steps int // of the machine
	Calls int
}

// Moment is how the pod is from a time on.
type Moment struct {
	At       time.Duration
	Phase    v1.PodPhase
	Ready    bool
	Restarts []Restarts // in the order of the status
}

type Restarts struct {
	Container string
	Count     int32
}

// Double is that an instance was started beside another of the same container.
type Double struct {
	Container string
	At        time.Duration
}

// Line is one of the pod's story.
type Line struct {
	At     time.Duration
	Report lifecycle.Report
}

func (l *Life) tell(at time.Duration, r lifecycle.Report) { l.Story = append(l.Story, Line{at, r}) }

// status files how the pod is, if that has changed.
func (l *Life) status(at time.Duration, s *v1.PodStatus) {
	m := Moment{At: at, Phase: s.Phase}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		m.Ready = m.Ready || c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	}
	if n := len(l.Moments); n > 0 {
		last := &l.Moments[n-1]
		if last.Phase == m.Phase && last.Ready == m.Ready && last.restartsAre(s) {
			return
		}
	}
	m.Restarts = slices.Grow(m.Restarts, len(s.InitContainerStatuses)+len(s.ContainerStatuses))
	for _, list := range [2][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			m.Restarts = append(m.Restarts, Restarts{list[i].Name, list[i].RestartCount})
		}
	}
	l.Moments = append(l.Moments, m)
}

// restartsAre says whether the restarts are those of a status, which always has the same
// containers in the same order.
func (m *Moment) restartsAre(s *v1.PodStatus) bool {
	n := 0
	for _, list := range [2][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			if n >= len(m.Restarts) || m.Restarts[n] != (Restarts{list[i].Name, list[i].RestartCount}) {
				return false
			}
			n++
		}
	}
	return n == len(m.Restarts)
}

func (l *Life) finish(at time.Duration, wall time.Time) { l.Until, l.At = at, wall }

// Phase is the pod's last one.
func (l *Life) Phase() v1.PodPhase {
	if n := len(l.Moments); n > 0 {
		return l.Moments[n-1].Phase
	}
	return v1.PodPending
}

// Ready says whether the pod was Ready at the end.
func (l *Life) Ready() bool {
	n := len(l.Moments)
	return n > 0 && l.Moments[n-1].Ready
}

// ReadyAt is when the pod was Ready for the first time; false: never.
func (l *Life) ReadyAt() (time.Duration, bool) {
	for _, m := range l.Moments {
		if m.Ready {
			return m.At, true
		}
	}
	return 0, false
}

// Downtime is how long the pod was not Ready between its first Ready and its end, or the end
// of the simulation. What comes after its last Ready counts only while it is still to run.
// False: it never was Ready, and so has no downtime.
func (l *Life) Downtime() (down time.Duration, ever bool) {
	first, ever := l.ReadyAt()
	if !ever {
		return 0, false
	}
	for i, m := range l.Moments {
		if m.At < first || m.Ready || m.Phase == v1.PodSucceeded || m.Phase == v1.PodFailed {
			continue
		}
		if i+1 < len(l.Moments) {
			down += l.Moments[i+1].At - m.At
		} else if !l.Gone {
			down += l.Until - m.At
		}
	}
	return down, true
}

// RestartsOf are a container's; of all together if the name is empty.
func (m *Moment) RestartsOf(container string) (sum int32) {
	for _, r := range m.Restarts {
		if container == "" || r.Container == container {
			sum += r.Count
		}
	}
	return sum
}

// Restarts are those of all containers together.
func (l *Life) Restarts() int32 {
	if n := len(l.Moments); n > 0 {
		return l.Moments[n-1].RestartsOf("")
	}
	return 0
}

// Record is the life as a pod's journal has it.
func (l *Life) Record() *journal.Record {
	return &journal.Record{Pod: journal.PodOf(l.Pod), Living: !l.Gone, Entries: l.Entries}
}
