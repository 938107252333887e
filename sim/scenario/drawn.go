package scenario

import (
	"math"
	"math/rand/v2"
	"time"
)

// Changes are those of the calls of one life, with their times drawn.
type Changes []change

type change struct {
	*Call
	from, until time.Duration // since the life began
	done        int           // calls that were changed
}

// Changes are those of a life that begins.
func (s *Scenario) Changes(dice *rand.Rand) Changes {
	list := make(Changes, len(s.Calls))
	for i := range s.Calls {
		c := &s.Calls[i]
		list[i] = change{Call: c, from: c.From.Draw(dice, 0), until: c.Until.Draw(dice, math.MaxInt64)}
	}
	return list
}

// Of is the first change that fits a call, which counts as changed; nil: it goes as usual. The container is empty if the call is
// about none.
func (c Changes) Of(call, container string, now time.Duration) *Call {
	for i := range c {
		fits := &c[i]
		if fits.Call.Call != call || fits.Container != "" && fits.Container != container || now < fits.from || now >= fits.until || fits.Times > 0 && fits.done == fits.Times {
			continue
		}
		fits.done++
		return fits.Call
	}
	return nil
}

// Answers are those of a probe of one instance, with their times drawn.
type Answers []answer

type answer struct {
	*Answer
	from time.Duration // since the instance began
}

// DrawAnswers is for an instance that begins.
func DrawAnswers(dice *rand.Rand, list []Answer) (drawn Answers) {
	for i := range list {
		drawn = append(drawn, answer{&list[i], list[i].From.Draw(dice, 0)})
	}
	return drawn
}

// At is the answer so long after the instance began; nil: success.
func (a Answers) At(since time.Duration) (says *Answer) {
	for i := range a {
		if a[i].from <= since {
			says = a[i].Answer
		}
	}
	return says
}
