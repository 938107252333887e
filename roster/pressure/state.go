package pressure

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Config is how a node answers to pressure. Without thresholds it never does.
type Config struct {
	Thresholds []Threshold
	// Transition is how long a condition stays after it was last observed
	// (evictionPressureTransitionPeriod).
	Transition time.Duration
	// MaxPodGrace limits the grace of pods that a soft threshold ends, in seconds
	// (evictionMaxPodGracePeriod).
	MaxPodGrace int64
}

// State is what a node knows of its pressure. The zero value knows nothing.
type State struct {
	disks *Disks // nil: nothing was measured yet
	list  []Threshold

	since   map[int]time.Time // when each threshold was met first, by its index
	acting  map[int]bool      // met for their grace, and not enough was reclaimed yet
	last    Observations
	pressed map[v1.NodeConditionType]time.Time // when each condition was observed last
}

// Verdict is what follows from observations.
type Verdict struct {
	// Acts are the thresholds that demand that something is reclaimed, the most urgent
	// one first; none if nothing is to be done.
	Acts []Threshold
	// Conditions are those that the Node has, sorted.
	Conditions []v1.NodeConditionType
	// Again is when time alone changes the verdict; zero: never.
	Again time.Time
}

// Look takes what was measured (B-EVI-4). Observations that are no newer than those
// before change conditions, and don't act.
func (s *State) Look(c *Config, now time.Time, seen Observations, disks Disks) Verdict {
	if s.disks == nil || *s.disks != disks {
		*s = State{disks: &disks, list: onDisks(c.Thresholds, disks), pressed: s.pressed}
	}
	since, acting := map[int]time.Time{}, map[int]bool{}
	var verdict Verdict
	for i := range s.list {
		t := &s.list[i]
		observed, known := seen[t.Signal]
		if !known || !t.met(observed, s.acting[i]) {
			continue
		}
		since[i] = now
		if first, met := s.since[i]; met {
			since[i] = first
		}
		s.press(t.Signal.Condition(), now)
		if end := since[i].Add(t.Grace); end.After(now) {
			verdict.againAt(end)
			continue
		}
		acting[i] = true
		if last, known := s.last[t.Signal]; !known || observed.At.After(last.At) {
			verdict.Acts = append(verdict.Acts, *t)
		}
	}
	s.since, s.acting, s.last = since, acting, seen
	slices.SortStableFunc(verdict.Acts, func(a, b Threshold) int {
		return slices.Index(signals, a.Signal) - slices.Index(signals, b.Signal)
	})
	s.conditions(c, now, &verdict)
	return verdict
}

func (s *State) press(condition v1.NodeConditionType, now time.Time) {
	pressed := map[v1.NodeConditionType]time.Time{condition: now} // copied: a clone may share it
	for other, at := range s.pressed {
		if other != condition {
			pressed[other] = at
		}
	}
	s.pressed = pressed
}

// Conditions are those of the Node when nothing new was measured (B-EVI-5).
func (s *State) Conditions(c *Config, now time.Time) Verdict {
	var verdict Verdict
	s.conditions(c, now, &verdict)
	return verdict
}

func (s *State) conditions(c *Config, now time.Time, verdict *Verdict) {
	for _, condition := range slices.Sorted(maps.Keys(s.pressed)) {
		at := s.pressed[condition]
		end := at.Add(c.Transition)
		if !at.Equal(now) && !end.After(now) {
			continue
		}
		verdict.Conditions = append(verdict.Conditions, condition)
		if end.After(now) {
			verdict.againAt(end)
		}
	}
}

func (v *Verdict) againAt(at time.Time) {
	if v.Again.IsZero() || at.Before(v.Again) {
		v.Again = at
	}
}

// Enough says whether no threshold is met any more, with what was to be reclaimed
// beyond it (B-EVI-6).
func (s *State) Enough(seen Observations) bool {
	for i := range s.list {
		if observed, known := seen[s.list[i].Signal]; known && s.list[i].met(observed, true) {
			return false
		}
	}
	return true
}

// Describe says by how much a threshold is missed, for the log.
func (t *Threshold) Describe(seen Observations) string {
	o := seen[t.Signal]
	least := t.Value.of(o.Capacity)
	if !t.met(o, false) {
		return fmt.Sprintf("%s is %s, still less than the %s threshold of %s and the minimum to reclaim", t.Signal, t.Signal.quantity(o.Available), t.kind(), least)
	}
	missing := least.DeepCopy()
	missing.Sub(*t.Signal.quantity(o.Available))
	return fmt.Sprintf("%s is %s, %s less than the %s threshold of %s", t.Signal, t.Signal.quantity(o.Available), missing.String(), t.kind(), least)
}
