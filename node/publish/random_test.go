package publish

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// step is one thing that happens in a random life of a Writer.
type step struct {
	do    string
	pod   string
	fault fault
	pause time.Duration
}

var (
	someFaults = map[string]fault{
		"refused connection": {err: errRefusedConnection},
		"lost":               {lose: true},
		"lost slowly":        {lose: true, delay: 2 * time.Second},
		"hanging":            {delay: time.Hour},
		"slow":               {delay: 700 * time.Millisecond},
		"conflict":           {err: apierrors.NewConflict(podResource, "web", errors.New("changed"))},
		"too many":           {err: apierrors.NewTooManyRequests("later", 1)},
		"invalid":            {err: invalid()},
		"no leader":          {err: apierrors.NewInternalError(errors.New("no leader"))},
		"unavailable":        {err: apierrors.NewServiceUnavailable("starting")},
		"unauthorized":       {err: apierrors.NewUnauthorized("expired")},
	}
	somePods   = []string{"a", "b", "c"}
	faultNames = sortedKeys(someFaults)
)

func sortedKeys(m map[string]fault) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func drawStep(t *rapid.T) step {
	s := step{
		do:    rapid.SampledFrom([]string{"set", "set", "set", "progress", "progress", "transition", "transition", "fault", "outage", "back", "foreign", "theirs"}).Draw(t, "do"),
		pod:   rapid.SampledFrom(somePods).Draw(t, "pod"),
		pause: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 30, 400, 1500, 20000}).Draw(t, "pause")) * time.Millisecond,
	}
	if s.do == "fault" {
		s.fault = someFaults[rapid.SampledFrom(faultNames).Draw(t, "fault")]
		s.fault.verb = rapid.SampledFrom([]string{"", "PATCH", "GET"}).Draw(t, "verb")
		s.fault.times = rapid.IntRange(1, 3).Draw(t, "times")
	}
	return s
}

// TestRandom: whatever happens to requests, in the end the API has the last status
// of each pod and what others own in it; statuses arrive in order; a transition
// is reported once, and "seen" only if it was written; then there is silence.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lag := time.Duration(rapid.SampledFrom([]int{0, 5, 300, 5000}).Draw(rt, "lag of the watch")) * time.Millisecond
		latency := time.Duration(rapid.SampledFrom([]int{0, 20, 200}).Draw(rt, "latency")) * time.Millisecond
		faultless := rapid.Bool().Draw(rt, "calm") // no faults: then every transition is seen
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 40).Draw(rt, "steps")
		var problems []string
		synctest.Test(t, func(t *testing.T) {
			config := WriterConfig{}
			if faultless {
				config.Patience = time.Minute
			}
			l := &life{setup: start(t, config), faultless: faultless, last: map[string]int{}, address: map[string]string{}, foreign: map[string]string{}, answers: map[string][]error{}}
			defer l.stop()
			l.api.latency = latency
			l.watch(lag)
			defer close(l.shown)
			for _, name := range somePods {
				l.setup.pod(name)
			}
			for _, s := range steps {
				l.step(s)
			}
			l.settle()
			problems = l.problems
		})
		if len(problems) > 0 {
			rt.Fatal(problems)
		}
	})
}

// life is a random life of a Writer and what must be true of it.
type life struct {
	*setup
	faultless bool
	shown     chan *v1.Pod // by the watch
	number    int          // of the newest status of all
	last      map[string]int
	address   map[string]string // of the last status
	foreign   map[string]string // what others have written last, by pod
	problems  []string

	mu          sync.Mutex
	answers     map[string][]error
	transitions []string
}

func (l *life) wrong(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// watch shows changes in order, each some time after it was made.
func (l *life) watch(lag time.Duration) {
	shown := make(chan *v1.Pod, 10000)
	l.shown = shown
	l.api.changed = func(p *v1.Pod) { shown <- p }
	go func() {
		for p := range shown {
			time.Sleep(lag)
			l.Live(p)
		}
	}()
}

func (l *life) step(s step) {
	ref := Ref{Namespace: "default", Name: s.pod, UID: types.UID("uid-" + s.pod)}
	switch s.do {
	case "set", "transition":
		l.number++
		l.last[s.pod], l.address[s.pod] = l.number, ""
		name := strconv.Itoa(l.number)
		var seen func(error)
		if s.do == "transition" {
			l.transitions = append(l.transitions, s.pod+" "+name)
			seen = func(err error) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.answers[s.pod+" "+name] = append(l.answers[s.pod+" "+name], err)
			}
		}
		l.Set(ref, running(name), seen)
	case "progress": // a step of a start may wait, and does not change what has been said
		if l.last[s.pod] > 0 {
			status := running(strconv.Itoa(l.last[s.pod]))
			l.number++
			l.address[s.pod] = fmt.Sprintf("10.0.%d.%d", l.number/256, l.number%256)
			status.PodIP, status.PodIPs = l.address[s.pod], []v1.PodIP{{IP: l.address[s.pod]}}
			l.Set(ref, status, nil)
		}
	case "fault", "outage", "back":
		if l.faultless {
			return
		}
	}
	switch s.do {
	case "fault":
		l.api.fail(s.fault)
	case "outage":
		l.api.fail(fault{times: -1, err: errRefusedConnection})
	case "back":
		l.api.fail()
	case "foreign":
		l.foreign[s.pod] += "+"
		l.byOthers(s.pod, func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue, Message: l.foreign[s.pod]}}
		})
	case "theirs":
		l.byOthers(s.pod, func(p *v1.Pod) { p.Status.Message = "0" })
	}
	after(s.pause)
}

// byOthers changes an object and leaves it to the watch to show that.
func (l *life) byOthers(name string, f func(*v1.Pod)) {
	pod := l.api.get(name).DeepCopy()
	f(pod)
	l.api.put(pod)
}

// settle ends all faults and holds the end against what must be.
func (l *life) settle() {
	l.api.fail()
	after(5 * time.Minute)
	requests := l.api.count("")
	after(time.Hour)
	if n := l.api.count(""); n != requests {
		l.wrong("no silence: %d requests in an hour", n-requests)
	}
	for name, number := range l.last {
		if got := l.api.get(name).Status.Message; got != strconv.Itoa(number) {
			l.wrong("%s has %q in the end, want %d", name, got, number)
		}
		if got := l.api.get(name).Status.PodIP; got != l.address[name] {
			l.wrong("%s has the address %q in the end, want %q", name, got, l.address[name])
		}
		before := 0
		for _, message := range l.messages(name) {
			n, err := strconv.Atoi(message)
			if message == "0" { // others' own, of which the watch had not reported yet when something else was written
				continue
			}
			if err != nil || n < before {
				l.wrong("%s: %q is written after %d", name, message, before)
			}
			before = n
		}
	}
	for name, message := range l.foreign {
		if c := condition(l.api.get(name).Status.Conditions, "example.com/gate"); c == nil || c.Message != message {
			l.wrong("%s has the condition %v, want %q", name, c, message)
		}
	}
	if l.api.atOnce > 1 {
		l.wrong("%d requests at once for one pod", l.api.atOnce)
	}
	l.holdTransitions()
}

func (l *life) holdTransitions() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, transition := range l.transitions {
		answers := l.answers[transition]
		if len(answers) != 1 {
			l.wrong("transition %s was told %v", transition, answers)
			continue
		}
		name, message, _ := strings.Cut(transition, " ")
		switch written := slices.Contains(l.messages(name), message); {
		case answers[0] == nil && !written:
			l.wrong("transition %s is said to be seen, but was not written", transition)
		case answers[0] != nil && l.faultless:
			l.wrong("transition %s was told %v", transition, answers[0])
		case answers[0] != nil && !errors.Is(answers[0], ErrUnseen):
			l.wrong("transition %s was told %v", transition, answers[0])
		}
	}
}
