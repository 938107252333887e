package nodefaults

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"time"
)

// How long something lasts if the scenario doesn't say.
const (
	usualPartition = time.Minute
	usualReboot    = 30 * time.Second
)

// Kind is what can happen to a node.
type Kind int

// What can happen to a node.
const (
	Partition Kind = iota + 1
	Reboot
	Loss
)

// Faults is what happens to one node; the zero Faults is nothing.
type Faults struct {
	Slow   float64 // calls of the container runtime take so many times as long; 0: as long as usual
	Events []Happening
}

// Happening is one thing that happens.
type Happening struct {
	Kind Kind
	At   time.Duration // since the cluster knew the node
	For  time.Duration // of a loss: it does not end
}

// Of draws the faults of nodes, in the order of their names. The same scenario, names and seed have
// the same faults. A nil Scenario has nothing happen.
func (s *Scenario) Of(names []string, seed uint64) []Faults {
	faults := make([]Faults, len(names))
	if s == nil {
		return faults
	}
	for i, entry := range s.choose(names, seed) {
		if entry == nil {
			continue
		}
		name := fnv.New64a()
		_, _ = name.Write([]byte(names[i])) // it never fails
		faults[i] = entry.draw(diceOf(seed, name.Sum64()))
	}
	return faults
}

// choose is the entry of each node; nil: it has none.
func (s *Scenario) choose(names []string, seed uint64) []*Entry {
	of := make([]*Entry, len(names))
	for number := range s.Nodes {
		e := &s.Nodes[number]
		left := len(names)
		if e.Share != nil {
			left = e.Share.of(len(names))
		}
		for _, i := range diceOf(seed, uint64(number)).Perm(len(names)) { //nolint:gosec // never negative
			if left == 0 {
				break
			}
			fits := e.Share != nil
			if !fits {
				fits, _ = path.Match(e.Names, names[i])
			}
			if fits && of[i] == nil {
				of[i] = e
				left--
			}
		}
	}
	return of
}

func diceOf(seed, of uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, of^0x9e3779b97f4a7c15)) //nolint:gosec // it is to be repeated
}

// draw is what happens to one node of an entry, in the order of time.
func (e *Entry) draw(dice *rand.Rand) (f Faults) {
	if e.Slow != nil {
		f.Slow = float64(*e.Slow)
	}
	for i := range e.Events {
		h, event := Happening{Kind: Loss}, &e.Events[i]
		h.At = event.At.Draw(dice, 0)
		switch {
		case event.Partition != nil:
			h.Kind, h.For = Partition, event.Partition.For.Draw(dice, usualPartition)
		case event.Reboot != nil:
			h.Kind, h.For = Reboot, event.Reboot.For.Draw(dice, usualReboot)
		}
		f.Events = append(f.Events, h)
	}
	slices.SortStableFunc(f.Events, func(a, b Happening) int { return cmp.Compare(a.At, b.At) })
	return f
}

// Reboots says whether the node is rebooted.
func (f *Faults) Reboots() bool {
	return slices.ContainsFunc(f.Events, func(h Happening) bool { return h.Kind == Reboot })
}
