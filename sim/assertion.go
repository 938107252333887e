package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Assertion is something that a life must fulfil:
//
//	Ready within 30s            so do Running, Succeeded and Failed
//	never Failed                nor Ready, Succeeded
//	ends Succeeded              or Failed, Running, Pending, Ready
//	restarts(main) <= 3         of a container; restarts <= 3: of all together
//	downtime <= 10s             not Ready after the first Ready, which must come
//	never two of main           instances at the same time
type Assertion struct {
	Text   string
	broken breach
}

// Breach is how a life broke an assertion.
type Breach struct {
	Assertion string  `json:"assertion"`
	At        float64 `json:"atSeconds"`
	Seed      uint64  `json:"seed"` // of the life
	Why       string  `json:"why"`
}

func (b Breach) String() string {
	return fmt.Sprintf("assertion %q fails at +%.3fs, seed %d: %s", b.Assertion, b.At, b.Seed, b.Why)
}

// Broken lists how a life broke assertions, at most once each; empty: all hold.
func Broken(asserts []Assertion, l *Life) (list []Breach) {
	for _, a := range asserts {
		if at, why, broken := a.broken(l); broken {
			list = append(list, Breach{Assertion: a.Text, At: at.Round(time.Millisecond).Seconds(), Seed: l.Seed, Why: why})
		}
	}
	return list
}

var (
	within   = regexp.MustCompile(`^(Ready|Running|Succeeded|Failed) within (\S+)$`)
	neverIs  = regexp.MustCompile(`^never (Ready|Running|Succeeded|Failed)$`)
	ends     = regexp.MustCompile(`^ends (Ready|Running|Pending|Succeeded|Failed)$`)
	restarts = regexp.MustCompile(`^restarts(?:\(([^()]+)\))? *<= *(\d+)$`)
	downtime = regexp.MustCompile(`^downtime *<= *(\S+)$`)
	neverTwo = regexp.MustCompile(`^never two of (\S+)$`)
)

const AssertionForms = "Ready within 30s, never Failed, ends Succeeded, restarts(main) <= 3, restarts <= 3, downtime <= 10s, never two of main"

// ParseAssertion reads one about a pod. An error says what would be right.
func ParseAssertion(text string, pod *v1.Pod) (a Assertion, err error) {
	a.Text = strings.Join(strings.Fields(text), " ")
	var container string
	var limit time.Duration
	switch {
	case within.MatchString(a.Text):
		parts := within.FindStringSubmatch(a.Text)
		limit, err = time.ParseDuration(parts[2])
		a.broken = isWithin(parts[1], limit)
	case neverIs.MatchString(a.Text):
		a.broken = neverBecomes(neverIs.FindStringSubmatch(a.Text)[1])
	case ends.MatchString(a.Text):
		a.broken = endsAs(ends.FindStringSubmatch(a.Text)[1])
	case restarts.MatchString(a.Text):
		parts := restarts.FindStringSubmatch(a.Text)
		container = parts[1]
		var most int64
		most, err = strconv.ParseInt(parts[2], 10, 32)
		a.broken = restartsAtMost(container, int32(most))
	case downtime.MatchString(a.Text):
		limit, err = time.ParseDuration(downtime.FindStringSubmatch(a.Text)[1])
		a.broken = downAtMost(limit)
	case neverTwo.MatchString(a.Text):
		container = neverTwo.FindStringSubmatch(a.Text)[1]
		a.broken = neverTwice(container)
	default:
		return a, fmt.Errorf("%q is no assertion: want one such as %s", text, AssertionForms)
	}
	if err != nil || limit < 0 {
		return a, fmt.Errorf("%q: want a duration such as 30s, or a whole number", text)
	}
	if container != "" && !slices.Contains(namesOf(pod), container) {
		return a, fmt.Errorf("%q: the pod has no container %s: there are %s", text, container, strings.Join(namesOf(pod), ", "))
	}
	return a, nil
}

func namesOf(pod *v1.Pod) (names []string) {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Name)
	}
	return names
}

// breach says when and why a life broke an assertion; false: it holds.
type breach = func(*Life) (at time.Duration, why string, broken bool)

func (m *Moment) is(what string) bool {
	if what == "Ready" {
		return m.Ready
	}
	return string(m.Phase) == what
}

func (l *Life) first(what string) (time.Duration, bool) {
	for i := range l.Moments {
		if l.Moments[i].is(what) {
			return l.Moments[i].At, true
		}
	}
	return 0, false
}

func isWithin(what string, limit time.Duration) breach {
	return func(l *Life) (time.Duration, string, bool) {
		at, ever := l.first(what)
		switch {
		case !ever && !l.Gone && !l.Quiet && l.Until < limit:
			return l.Until, fmt.Sprintf("the pod was not %s by then, and was not looked at any longer (for, or --for)", what), true
		case !ever:
			return limit, "the pod never was " + what, true
		case at > limit:
			return at, fmt.Sprintf("the pod was %s after %v", what, at.Round(time.Millisecond)), true
		}
		return 0, "", false
	}
}

func neverBecomes(what string) breach {
	return func(l *Life) (time.Duration, string, bool) {
		at, ever := l.first(what)
		return at, "the pod was " + what, ever
	}
}

func endsAs(what string) breach {
	return func(l *Life) (time.Duration, string, bool) {
		n := len(l.Moments)
		if n > 0 && l.Moments[n-1].is(what) {
			return 0, "", false
		}
		return l.Until, "the pod is " + string(l.Phase()), true
	}
}

func restartsAtMost(container string, most int32) breach {
	return func(l *Life) (time.Duration, string, bool) {
		for i := range l.Moments {
			if n := l.Moments[i].RestartsOf(container); n > most {
				return l.Moments[i].At, fmt.Sprintf("restarts are %d", n), true
			}
		}
		return 0, "", false
	}
}

func downAtMost(limit time.Duration) breach {
	return func(l *Life) (time.Duration, string, bool) {
		down, ever := l.Downtime()
		if !ever {
			return l.Until, "the pod never was Ready", true
		}
		return l.Until, fmt.Sprintf("downtime is %v", down.Round(time.Millisecond)), down > limit
	}
}

func neverTwice(container string) breach {
	return func(l *Life) (time.Duration, string, bool) {
		for _, d := range l.Doubles {
			if d.Container == container {
				return d.At, "a second instance was started beside one that ran", true
			}
		}
		return 0, "", false
	}
}
