package podlog

import "time"

// writerPatience is how long a file that was rotated away may stay open for writing
// without anything being written. A runtime that is held up, by a disk that is busy or
// because it was stopped, has up to a few thousand lines to write when it goes on.
const writerPatience = time.Minute

// rest is what may still be written to a file that was rotated away.
type rest struct {
	since time.Time // when something came last
}

type verdict int

const (
	restComes   verdict = iota // wait
	restRead                   // all of it was read
	restGivenUp                // something may be left
)

// judge takes a look at the file: whether anything came since the last one, and
// whether it was open for writing before that was read. An error says that there is no
// telling: then a file that has been quiet for a while is complete.
func (r *rest) judge(now time.Time, came, written bool, err error) verdict {
	if came {
		r.since = now
	}
	quiet := now.Sub(r.since)
	switch {
	case err == nil && !written, err != nil && quiet >= writerTimeout:
		return restRead
	case quiet >= writerPatience:
		return restGivenUp
	}
	return restComes
}
