package timeline_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

// charts are those of all lives that the tests know.
func charts() map[string]*timeline.Chart {
	list := map[string]*timeline.Chart{"web": timeline.Of(timelinetest.Web(), timelinetest.At(time.Hour))}
	for name, life := range map[string]func() (*journal.Record, time.Time){
		"crashing": timelinetest.Crashing, "unpullable": timelinetest.Unpullable, "resumed": timelinetest.Resumed, "malicious": timelinetest.Malicious,
	} {
		record, now := life()
		list[name] = timeline.Of(record, now)
	}
	return list
}

// lines are a chart as short text: a row's bars and marks, and the critical path.
func lines(c *timeline.Chart) (list []string) {
	at := func(t time.Time) string { return timeline.Took(t.Sub(c.Begin)) }
	for _, r := range c.Rows {
		for _, b := range r.Bars {
			line := fmt.Sprintf("%s: %s %s to %s", r.Name, b.Name(sentence.English), at(b.Begin), at(b.End))
			for _, is := range []struct {
				so   bool
				word string
			}{{b.Open, "open"}, {b.Failed(), "failed"}, {b.Critical, "critical"}} {
				if is.so {
					line += ", " + is.word
				}
			}
			list = append(list, line)
		}
		for _, m := range r.Marks {
			list = append(list, fmt.Sprintf("%s: %s at %s", r.Name, m.Name, at(m.At)))
		}
	}
	for _, p := range c.Path.Pieces {
		list = append(list, fmt.Sprintf("%s %s to %s", p.Label, at(p.Begin), at(p.End)))
	}
	return list
}

func TestOf(t *testing.T) {
	all := charts()
	for name, want := range map[string][]string{
		"web": {
			"pod: scheduling 0s to 1.00s, critical",
			"pod: admission 1.00s to 3.00s, critical",
			"pod: Pending 3.00s to 3.27s",
			"pod: not ready 3.27s to 10.3s",
			"pod: ready 10.3s to 23.0s",
			"pod: ending 23.0s to 24.8s",
			"pod: Ready at 10.3s",
			"pod: deleted at 23.0s",
			"pod: gone at 24.8s",
			"cgroup: cgroup 3.00s to 3.00s",
			"cgroup: remove 24.8s to 24.8s",
			"volumes: volumes 3.00s to 3.04s",
			"volumes: remove 24.7s to 24.7s",
			"sandbox: sandbox 3.04s to 3.19s",
			"sandbox: stopping 24.7s to 24.8s",
			"sandbox: remove 24.8s to 24.8s",
			"setup: image check 3.00s to 3.00s",
			"setup: create 3.19s to 3.22s",
			"setup: start 3.22s to 3.27s",
			"setup: runs 3.27s to 3.90s",
			"image of main: image pull 3.00s to 7.21s, critical",
			"main: image check 3.00s to 3.00s, critical",
			"main: create 7.21s to 7.24s, critical",
			"main: start 7.24s to 7.29s, critical",
			"main: startup 7.29s to 9.30s, critical",
			"main: not ready 9.30s to 10.3s, critical",
			"main: ready 10.3s to 23.0s",
			"main: preStop 23.0s to 24.0s",
			"main: stopping 24.0s to 24.7s, failed",
			"startup probe of main: failed, 1 in a row at 8.30s",
			"scheduling 0s to 1.00s",
			"admission 1.00s to 3.00s",
			"image check of main 3.00s to 3.00s",
			"image pull of main 3.00s to 7.21s",
			"creation of main 7.21s to 7.24s",
			"start of main 7.24s to 7.29s",
			"startup of main 7.29s to 9.30s",
			"readiness of main 9.30s to 10.3s",
		},
		"resumed": {
			"pod: Pending 0s to 5.28s",
			"pod: not ready 5.28s to 5.30s",
			"pod: ready 5.30s to 3h00m, open",
			"pod: resumed at 5.00s",
			"pod: Ready at 5.30s",
			"volumes: volumes 0s to 20ms, critical",
			"sandbox: sandbox 20ms to 20ms, failed",
			"sandbox: sandbox 5.00s to 5.20s, critical",
			"main: create 5.20s to 5.23s, critical",
			"main: start 5.23s to 5.28s, critical",
			"main: startup 5.28s to 5.30s, critical",
			"main: ready 5.30s to 3h00m, open",
			"volumes 0s to 20ms",
			"lifepod away 20ms to 5.00s",
			"sandbox, network 5.00s to 5.20s",
			"creation of main 5.20s to 5.23s",
			"start of main 5.23s to 5.28s",
			"startup of main 5.28s to 5.30s",
		},
		"crashing": {
			"pod: Pending 0s to 330ms",
			"pod: ready 330ms to 850ms",
			"pod: not ready 850ms to 980ms",
			"pod: ready 980ms to 1.50s",
			"pod: back-off 1.50s to 12.0s", "pod: not ready 12.0s to 12.1s",
			"pod: ready 12.1s to 16.0s",
			"pod: back-off 16.0s to 20.0s, open",
			"pod: Ready at 330ms",
			"cgroup: cgroup 0s to 2ms",
			"volumes: volumes 0s to 30ms, critical",
			"sandbox: sandbox 30ms to 250ms, critical",
			"worker: image check 0s to 3ms",
			"worker: create 250ms to 280ms, critical",
			"worker: start 280ms to 330ms, critical",
			"worker: ready 330ms to 850ms, failed",
			"worker: image check, restart 1 900ms to 901ms",
			"worker: create, restart 1 900ms to 930ms",
			"worker: start, restart 1 930ms to 980ms",
			"worker: ready, restart 1 980ms to 1.50s, failed",
			"worker: back-off, restart 1 1.50s to 12.0s",
			"worker: image check, restart 2 12.0s to 12.0s",
			"worker: create, restart 2 12.0s to 12.0s",
			"worker: start, restart 2 12.0s to 12.1s",
			"worker: ready, restart 2 12.1s to 14.0s",
			"worker: stopping, restart 2 14.0s to 16.0s, failed",
			"worker: back-off, restart 2 16.0s to 20.0s, open",
			"liveness probe of worker: failed, 1 in a row at 13.0s",
			"liveness probe of worker: failed, 2 in a row at 14.0s",
			"volumes 0s to 30ms",
			"sandbox, network 30ms to 250ms",
			"creation of worker 250ms to 280ms",
			"start of worker 280ms to 330ms",
		},
	} {
		assert.Deep(t, name, want, lines(all[name]))
	}
}

// A pod is Pending before its first container runs, and says what its containers wait for, as their status does.
func TestPending(t *testing.T) {
	record := &journal.Record{
		Entries: []journal.Entry{{ID: 1, At: timelinetest.At(0), Kind: journal.Fact, Name: "Accepted"}},
		Now: &journal.Now{Containers: []journal.ContainerNow{
			{Name: "init", State: "running"}, {Name: "main", State: "waiting", Reason: "PodInitializing"},
			{Name: "side", State: "waiting", Reason: "ErrImagePull", Message: "not found"},
		}},
	}
	b := timeline.Of(record, timelinetest.At(time.Second)).Rows[0].Bars[0]
	assert.True(t, b.Step == timeline.Pending && b.Step.Class() == timeline.Wait && b.Open, "%+v", b)
	assert.Deep(t, "", []timeline.Note{{Text: "main waiting: PodInitializing"}, {Text: "side waiting: ErrImagePull: not found"}}, b.Detail(sentence.English))
}

// What was decided about a bar is kept with it, with its rule.
func TestNotes(t *testing.T) {
	for _, r := range charts()["crashing"].Rows {
		for _, b := range r.Bars {
			if b.Step != timeline.Stopping {
				continue
			}
			want := []timeline.Note{
				{Text: "exit code 137, Error"},
				{Text: "liveness probe failed: HTTP probe failed with statuscode: 503 → stop it, then restart (2 times in a row)", Rule: "A-ACT-8"},
				{Text: "exited 137 → restart in 20s (restartPolicy OnFailure)", Rule: "A-RST-1"},
			}
			assert.Deep(t, "", want, b.Detail(sentence.English))
			return
		}
	}
	t.Error("no container is stopped")
}

// The critical path has no gaps, its shares add up, and every bar lies within its chart: of whole
// records, of those of which only the first entries are there, and of those whose first are given up.
func TestLaws(t *testing.T) {
	web, crashing, malicious := timelinetest.Web(), first(timelinetest.Crashing()), first(timelinetest.Malicious())
	for _, record := range []*journal.Record{web, crashing, malicious, first(timelinetest.Unpullable()), first(timelinetest.Resumed())} {
		for i := range len(record.Entries) + 1 {
			for _, part := range [][]journal.Entry{record.Entries[:i], record.Entries[i:]} {
				some := *record
				some.Entries = part
				laws(t, timeline.Of(&some, timelinetest.At(time.Minute)))
			}
		}
	}
}

func first(record *journal.Record, _ time.Time) *journal.Record { return record }

func laws(t *testing.T, c *timeline.Chart) {
	t.Helper()
	at := c.Begin
	if c.Group != nil && len(c.Path.Pieces) > 0 { // the path of its newest attempt
		at = c.Path.Pieces[0].Begin
	}
	for _, p := range c.Path.Pieces {
		assert.True(t, p.Begin.Equal(at) && p.End.After(p.Begin),
			"%s: a piece of the path from %v to %v comes after %v", c.Pod.Name, p.Begin, p.End, at)
		at = p.End
	}
	assert.True(t, len(c.Path.Pieces) == 0 || at.Equal(c.Path.At), "%s: the path ends %v, want %v", c.Pod.Name, at, c.Path.At)
	var sum time.Duration
	for _, s := range c.Path.Shares {
		sum += s.Took
	}
	assert.Equal(t, c.Path.Duration(), sum, "%s: the shares of the path", c.Pod.Name)
	for _, r := range c.Rows {
		for _, b := range r.Bars {
			assert.True(t, !b.Begin.Before(c.Begin) && !b.End.After(c.End) && !b.End.Before(b.Begin),
				"%s: %s of %s lasts from %v to %v, the chart from %v to %v", c.Pod.Name, b.Step, r.Name, b.Begin, b.End, c.Begin, c.End)
		}
		assert.True(t, r.Kind != timeline.ContainerRow || slices.IsSortedFunc(r.Bars, func(x, y timeline.Bar) int { return x.Begin.Compare(y.Begin) }),
			"%s: the bars of %s are out of order", c.Pod.Name, r.Name)
	}
}

// A pod that is not Ready waits for what goes on: the present is where its path leads to.
func TestNow(t *testing.T) {
	c := charts()["unpullable"]
	assert.Require(t, c.Path.To == "now" && c.Path.At.Equal(timelinetest.At(40*time.Second)), "the path leads to %s at %v", c.Path.To, c.Path.At)
	assert.Equal(t, (timeline.Share{Label: "back-off of main", Took: 38800 * time.Millisecond, Percent: 97}), c.Path.Shares[0], "got")
}

func TestJSON(t *testing.T) {
	text := assert.Get(json.MarshalIndent(charts()["web"], "", "  ")).Must(t)
	timelinetest.Golden(t, "web.json", append(text, '\n'))
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 300 * time.Microsecond: "<1ms", 999499 * time.Microsecond: "999ms", 999500 * time.Microsecond: "1.00s", 9994 * time.Millisecond: "9.99s",
		9995 * time.Millisecond: "10.0s", 59949 * time.Millisecond: "59.9s", 59950 * time.Millisecond: "1m00s", 184 * time.Second: "3m04s",
		3599700 * time.Millisecond: "1h00m", 127 * time.Minute: "2h07m", 76 * time.Hour: "3d04h", -2 * time.Second: "-2.00s",
	} {
		assert.Equal(t, want, timeline.Took(d), "%v", d)
	}
	for bytes, want := range map[uint64]string{0: "0 B", 820: "820 B", 1000: "1.0 KiB", 4_500_000: "4.3 MiB", 187_000_000: "178 MiB", 2_400_000_000: "2.2 GiB"} {
		assert.Equal(t, want, timeline.Size(bytes), "%d", bytes)
	}
}

// Two pods are compared step by step; what only one of them has is said.
func TestCompare(t *testing.T) {
	quick := timeline.Of(timelinetest.Worker("quick", time.Second), timelinetest.At(20*time.Second))
	slow := timeline.Of(timelinetest.Worker("slow", 4*time.Second), timelinetest.At(20*time.Second))
	slow.Rows = slices.DeleteFunc(slow.Rows, func(r timeline.Row) bool { return r.Kind == timeline.CgroupRow })
	c := timeline.Compare(quick, slow)
	var got []string
	for _, s := range c.Steps {
		line := s.Label
		for _, d := range []*time.Duration{s.A, s.B} {
			if d == nil {
				line += ", none"
			} else {
				line += ", " + timeline.Took(*d)
			}
		}
		got = append(got, fmt.Sprintf("%s, %s, critical %v", line, timeline.Took(s.Difference()), s.Critical))
	}
	want := []string{
		"cgroup, 2ms, none, -2ms, critical false",
		"volumes, 30ms, 30ms, 0s, critical true",
		"sandbox, network, 220ms, 220ms, 0s, critical true",
		"image pull of main, 1.00s, 4.00s, 3.00s, critical true",
		"image check of main, 3ms, 3ms, 0s, critical false",
		"creation of main, 30ms, 30ms, 0s, critical true",
		"start of main, 50ms, 50ms, 0s, critical true",
		"main ready, 18.7s, 15.7s, -3.00s, critical false",
		"Ready after, 1.33s, 4.33s, 3.00s, critical false",
	}
	assert.Deep(t, "", want, got)
}

// The slowest of several is the one that was Ready last.
func TestSlowest(t *testing.T) {
	var charts []*timeline.Chart
	for i, pull := range []time.Duration{3 * time.Second, 9 * time.Second, 2 * time.Second} {
		charts = append(charts, timeline.Of(timelinetest.Worker(fmt.Sprint(i), pull), timelinetest.At(20*time.Second)))
	}
	last, first := timeline.Slowest(charts)
	assert.True(t, last == 1 && first == 2, "slowest %d, first %d", last, first)
	last, first = timeline.Slowest(charts[:1])
	assert.True(t, last == -1 && first == -1, "of one: slowest %d, first %d", last, first)
}

// The wait of a container that is in back-off lasts until the pod's end is asked for.
func TestWaitUntilDeletion(t *testing.T) {
	record, _ := timelinetest.Crashing()
	last := record.Entries[len(record.Entries)-1].ID
	record.Entries = append(record.Entries, journal.Entry{ID: last + 1, At: timelinetest.At(25 * time.Second), Kind: journal.Fact, Name: "StopRequested"})
	c := timeline.Of(record, timelinetest.At(30*time.Second))
	for _, r := range c.Rows {
		if r.Name != "worker" {
			continue
		}
		b := r.Bars[len(r.Bars)-1]
		assert.True(t, b.Step == timeline.BackOff && !b.Open && b.End.Equal(timelinetest.At(25*time.Second)), "the last bar is %+v", b)
	}
}

// Who asked for a pod's end is said in the language of who reads it.
func TestWhoAskedInChinese(t *testing.T) {
	record := timelinetest.Worker("a", time.Second)
	last := record.Entries[len(record.Entries)-1].ID
	decided := journal.Decision(lifecycle.Report{Subject: "pod", Kind: lifecycle.KindStopRequested, Because: lifecycle.Because{Kind: "again", Text: "Ctrl-C"}})
	decided.ID, decided.Cause, decided.At = last+2, last+1, timelinetest.At(5*time.Second)
	asked := journal.Entry{ID: last + 1, At: decided.At, Kind: journal.Fact, Name: "StopRequested", Detail: map[string]string{journal.DetailBecause: "Ctrl-C again"}}
	record.Entries = append(record.Entries, asked, decided)
	marks := timeline.In(sentence.Chinese, record, timelinetest.At(6*time.Second)).Rows[0].Marks
	assert.Equal(t, "再次 Ctrl-C", marks[len(marks)-1].Text, "who asked")
}

// A pod's end begins with whatever decides it: not every one is asked for by a fact of its own.
func TestEnding(t *testing.T) {
	for what, mark := range map[lifecycle.Kind]string{
		lifecycle.KindStopRequested: "deleted", lifecycle.KindEvicted: "evicted", lifecycle.KindDeadlineExceeded: "exceeded activeDeadlineSeconds 1m0s", lifecycle.KindEnds: "",
	} {
		record := timelinetest.Worker("a", time.Second)
		last := record.Entries[len(record.Entries)-1].ID
		decided := journal.Decision(lifecycle.Report{Subject: "pod", Kind: what, Span: time.Minute})
		decided.ID, decided.At = last+1, timelinetest.At(5*time.Second)
		record.Entries = append(record.Entries, decided)
		row := timeline.Of(record, timelinetest.At(6*time.Second)).Rows[0]
		b := row.Bars[len(row.Bars)-1]
		assert.True(t, b.Step == timeline.Ending && b.Begin.Equal(timelinetest.At(5*time.Second)), "%s: the last bar is %+v", what, b)
		if last := row.Marks[len(row.Marks)-1]; mark != "" && last.Name != mark {
			t.Errorf("%s: the last mark is %+v", what, last)
		}
	}
}

// The end of a pod that has ended by itself is over with what was done for it, until its object is deleted.
func TestEnded(t *testing.T) {
	record := timelinetest.Worker("a", time.Second)
	last := record.Entries[len(record.Entries)-1].ID
	ends := journal.Decision(lifecycle.Report{Subject: "pod", Kind: lifecycle.KindEnds})
	for i, e := range []journal.Entry{
		{Kind: journal.Fact, Name: "ContainerExited", Container: "main", Exit: &journal.Exit{Code: 1}}, ends,
		{Kind: journal.Milestone, Name: "phase", Value: "Failed"},
		{Kind: journal.Begun, Name: "StopSandbox"}, {Kind: journal.Answered, Name: "StopSandbox", Cause: last + 4},
		{Kind: journal.Fact, Name: "PodUpdated"}, {Kind: journal.Begun, Name: "RemoveSandbox"},
	} {
		e.ID, e.At = last+1+int64(i), timelinetest.At(time.Duration(50+i+i/5*50)*100*time.Millisecond)
		record.Entries = append(record.Entries, e)
	}
	var got []string
	for _, n := range []int{1, 0} {
		seen := *record
		seen.Entries = record.Entries[:len(record.Entries)-n]
		for _, b := range timeline.Of(&seen, timelinetest.At(time.Minute)).Rows[0].Bars {
			if b.Step == timeline.Ending {
				got = append(got, fmt.Sprint(b.Begin.Sub(timelinetest.Begin), " ", b.End.Sub(timelinetest.Begin)))
			}
		}
	}
	assert.Deep(t, "not deleted, and then deleted", []string{"5.1s 5.4s", "5.1s 5.4s", "10.6s 1m0s"}, got)
}
