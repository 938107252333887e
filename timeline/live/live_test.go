package live

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

// growing looks at a record of which every look has more entries.
func growing(record *journal.Record, by int) func() ([]*timeline.Chart, bool, error) {
	n := 0
	return func() ([]*timeline.Chart, bool, error) {
		n = min(n+by, len(record.Entries))
		some := *record
		some.Entries = record.Entries[:n]
		return []*timeline.Chart{timeline.Of(&some, some.Entries[n-1].At)}, n < len(record.Entries), nil
	}
}

// What is written line by line is the same however often somebody looks: each thing once, in the order
// of time.
func TestLines(t *testing.T) {
	var often, once bytes.Buffer
	for out, by := range map[*bytes.Buffer]int{&often: 1, &once: 1000} {
		f := Follower{Look: growing(timelinetest.Web(), by), Out: out, Every: time.Microsecond}
		if err := f.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	timelinetest.Golden(t, "web.txt", once.Bytes())
	times := map[string]int{}
	for out, by := range map[*bytes.Buffer]int{&often: 1, &once: 1000} {
		for l := range strings.Lines(out.String()) {
			what, _, _ := strings.Cut(strings.TrimSpace(l), ";")
			times[what] += by
		}
	}
	for what, n := range times {
		if n != 1001 {
			t.Errorf("%s: written %d times by who looks often, %d times by who looks once", what, n%1000, n/1000)
		}
	}
}

// screen is one whose size changes with each frame.
type screen []int

func (s *screen) Size() (columns, rows int) {
	columns = (*s)[0]
	*s = append((*s)[1:], columns)
	return columns, 9
}

// A frame goes over the one before, and never is higher than the screen; after a change of its width the
// screen is cleared.
func TestFrames(t *testing.T) {
	var out bytes.Buffer
	f := Follower{Look: growing(timelinetest.Web(), 30), Out: &out, Screen: &screen{80, 80, 60, 60}, Every: time.Microsecond}
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	frames := strings.SplitAfter(out.String(), "\x1b[J")
	for i, begin := range []string{"default/web", "\x1b[8A\r", "\x1b[2J\x1b[H"} {
		if i >= len(frames) || !strings.HasPrefix(frames[i], begin) || strings.Count(frames[i], "\n") != 8 {
			t.Errorf("frame %d of %d: %q", i, len(frames), frames[i])
		}
	}
}

// It ends with its context, and with an error.
func TestEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("no journal")
	f := Follower{Out: &bytes.Buffer{}, Every: time.Hour, Look: func() ([]*timeline.Chart, bool, error) {
		cancel()
		return nil, true, nil
	}}
	if err := f.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	f.Look = func() ([]*timeline.Chart, bool, error) { return nil, true, broken }
	if err := f.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
