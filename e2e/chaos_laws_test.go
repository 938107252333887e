//go:build chaos

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// chaosLaws are held against what is seen of one pod from outside: the statuses
// that its lifepods reported, and the file that its containers write to, whose order
// is the order in which things happened.
type chaosLaws struct {
	t      *testing.T
	status v1.PodStatus        // as told last
	counts map[string]int32    // restart counts as told last
	facts  map[string]string   // what is never to change, by its name
	ids    map[string][]string // instances of each container that wrote, in order
	state  struct{ initEnded, sideUp, sideTerm bool }
	stops  map[string]int // preStop hooks by instance
}

func newChaosLaws(t *testing.T) *chaosLaws {
	return &chaosLaws{
		t: t, counts: map[string]int32{}, facts: map[string]string{}, ids: map[string][]string{},
		stops: map[string]int{},
	}
}

// judge judges all that one lifepod printed; its last line may be cut short.
func (l *chaosLaws) judge(stdout string) {
	for line := range strings.Lines(stdout) {
		var o object
		if json.Unmarshal([]byte(line), &o) != nil {
			assert.True(l.t, !strings.HasSuffix(line, "\n"), "not JSON: %q", line)
			continue
		}
		if o.Status == nil {
			continue
		}
		l.same("address in the status", o.Status.PodIP)
		l.status = *o.Status
		if o.Status.StartTime != nil {
			l.same("start time", o.Status.StartTime.String())
		}
		for name, count := range restartCounts(*o.Status) {
			assert.True(l.t, count >= l.counts[name], "restart count of %s goes back from %d to %d", name, l.counts[name], count) // B-RST-4
			l.counts[name] = count
		}
	}
}

// same demands that a thing, once known, stays as it is.
func (l *chaosLaws) same(what, is string) {
	if is == "" {
		return
	}
	was := l.facts[what]
	assert.True(l.t, was == "" || was == is, "%s was %s and is %s", what, was, is)
	l.facts[what] = is
}

// wrote judges what the containers wrote down.
func (l *chaosLaws) wrote(witness string) {
	n := 0
	for line := range strings.Lines(witness) {
		n++
		words := append(strings.Fields(line), "", "", "", "", "", "")
		l.line(n, words[0], words[1], words[2])
		l.same("UID", words[3])
		l.same("address in the environment", words[4])
		l.same("content of the emptyDir", words[5])
	}
	l.same("address in the environment", l.facts["address in the status"])
}

func (l *chaosLaws) line(n int, container, id, word string) {
	switch word {
	case "start":
		l.started(n, container, id)
		return
	case "prestop":
		if l.stops[id]++; l.stops[id] > 1 {
			l.t.Errorf("line %d: preStop of %s %s runs again", n, container, id)
		}
	case "end":
		l.state.initEnded = true
	case "term":
		l.state.sideTerm = l.state.sideTerm || container == "side"
	case "up":
		l.state.sideUp = true
	}
	assert.True(l.t, container != "main" || !l.state.sideTerm, "line %d: main goes on after the sidecar was stopped", n)
	if ids := l.ids[container]; len(ids) == 0 || ids[len(ids)-1] != id { // B-RST-1
		l.t.Errorf("line %d: %s %s %ss while another instance of it, %v, has begun", n, container, id, word, ids)
	}
}

func (l *chaosLaws) started(n int, container, id string) {
	l.ids[container] = append(l.ids[container], id)
	switch container {
	case "init":
		l.state.initEnded, l.state.sideUp = false, false
	case "side":
		l.state.sideTerm = false
		assert.True(l.t, l.state.initEnded, "line %d: side begins before init has ended", n)
	case "main":
		assert.True(l.t, l.state.initEnded && l.state.sideUp, "line %d: main begins, init ended %v, side up %v", n, l.state.initEnded, l.state.sideUp)
	}
	for _, other := range []string{"side", "main"} {
		if container == "init" && len(l.ids[other]) > 0 {
			l.ids[other] = append(l.ids[other], "none") // nothing of it may speak any more
		}
	}
}

// starts is how many instances of each container wrote that they began.
func (l *chaosLaws) starts() map[string]int {
	starts := map[string]int{}
	for container, ids := range l.ids {
		for _, id := range ids {
			if id != "none" {
				starts[container]++
			}
		}
	}
	return starts
}

// end judges the whole: what was counted is what ran, but for instances that
// were killed before they could write.
func (l *chaosLaws) end(harmed map[string]int) {
	harms := 0
	for _, n := range harmed {
		harms += n
	}
	for _, container := range keysOf(l.counts) {
		ran, counted := l.starts()[container], int(l.counts[container])+1
		assert.True(l.t, ran <= counted && counted <= ran+harms,
			"%s: %d instances wrote, %d were counted, %d things were killed", container, ran, counted, harms)
	}
}

// endedGracefully: main, which takes the signal and ends with 0, was not killed
// by the end that was asked for, unless it was too young to take the signal.
func (l *chaosLaws) endedGracefully(asked time.Time) {
	for _, c := range l.status.ContainerStatuses {
		e := c.State.Terminated
		assert.True(l.t, e != nil || c.State.Running == nil, "%s has no end: %+v", c.Name, c.State)
		if e == nil {
			continue // it never began
		}
		took := e.FinishedAt.Sub(asked) // in whole seconds
		assert.True(l.t, e.ExitCode != 137 || took <= time.Second || took >= 8*time.Second || !e.StartedAt.Time.Before(asked),
			"%s was killed %v after the end was asked for: %+v", c.Name, took, e)
	}
}
