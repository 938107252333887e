package perfetto

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

// field is one of a message that is decoded again.
type field struct {
	number protowire.Number
	value  uint64
	bytes  []byte
}

type fields []field

func decode(t *testing.T, encoded []byte) (list fields) {
	t.Helper()
	for len(encoded) > 0 {
		number, kind, n := protowire.ConsumeTag(encoded)
		if n < 0 {
			t.Fatalf("tag: %v", protowire.ParseError(n))
		}
		encoded = encoded[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(encoded)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(encoded)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(encoded)
		default:
			t.Fatalf("field %d is of type %d", number, kind)
		}
		if n < 0 {
			t.Fatalf("field %d: %v", number, protowire.ParseError(n))
		}
		encoded, list = encoded[n:], append(list, f)
	}
	return list
}

// get is a message's field; zero: it has none.
func (f fields) get(number protowire.Number) field {
	if i := slices.IndexFunc(f, func(x field) bool { return x.number == number }); i >= 0 {
		return f[i]
	}
	return field{}
}

// slice is a bar as the trace has it.
type slice struct {
	Track, Name, Begin, Took string
	Flow                     bool
	Details                  []string
}

// read are the slices of a trace, by track, and its instants as slices without a time that they took.
// Slices of a track must not overlap, and their times not go back.
func read(t *testing.T, trace []byte, begin time.Time) (list []slice) {
	t.Helper()
	names, open, free := map[uint64]string{}, map[uint64]*slice{}, map[uint64]uint64{}
	for _, f := range decode(t, trace) {
		packet := decode(t, f.bytes)
		if f.number != tracePacket || packet.get(packetSequence).value != 1 {
			t.Fatalf("field %d, packet %v", f.number, packet)
		}
		if track := decode(t, packet.get(packetTrack).bytes); len(track) > 0 {
			name := string(track.get(trackName).bytes)
			if process := decode(t, track.get(trackProcess).bytes); len(process) > 0 {
				name = "process " + string(process.get(processName).bytes)
			} else if parent := names[track.get(trackParent).value]; !strings.HasPrefix(parent, "process ") {
				t.Errorf("track %s is below %q", name, parent)
			}
			names[track.get(trackUUID).value] = name
		}
		event := decode(t, packet.get(packetEvent).bytes)
		if len(event) == 0 {
			continue
		}
		track, at := event.get(eventTrack).value, packet.get(packetTimestamp).value
		since := time.Unix(0, int64(at)).Sub(begin)
		one := slice{Track: names[track], Name: string(event.get(eventName).bytes), Begin: timeline.Took(since), Flow: event.get(eventFlow).value != 0}
		for _, a := range event {
			if a.number == eventAnnotation {
				annotation := decode(t, a.bytes)
				one.Details = append(one.Details, fmt.Sprintf("%s: %s", annotation.get(annotationName).bytes, annotation.get(annotationText).bytes))
			}
		}
		switch event.get(eventType).value {
		case typeBegin:
			if open[track] != nil || at < free[track] {
				t.Errorf("%s overlaps on track %s", one.Name, one.Track)
			}
			open[track], free[track] = &one, at
		case typeEnd:
			before := open[track]
			before.Took = timeline.Took(time.Duration(at - free[track]))
			list, free[track] = append(list, *before), at
			delete(open, track)
		case typeInstant:
			list = append(list, one)
		default:
			t.Errorf("event %v", event)
		}
	}
	for track, one := range open {
		t.Errorf("%s does not end on %d", one.Name, track)
	}
	return list
}

func write(t *testing.T, charts ...*timeline.Chart) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, charts); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What was encoded says again what the chart says.
func TestWrite(t *testing.T) {
	web := timeline.Of(timelinetest.Web(), time.Time{})
	var got []slice
	for _, s := range read(t, write(t, web), web.Begin) {
		if s.Track == "main" || s.Track == "image of main" || strings.HasSuffix(s.Track, "probe of main") {
			got = append(got, s)
		}
	}
	want := []slice{
		{Track: "image of main", Name: "image pull of main", Begin: "3.00s", Took: "4.21s", Flow: true, Details: []string{
			"critical path: yes", "detail 1: registry.example/web:2, 178 MiB", "detail 2: pulled image registry.example/web:2 in 4.206s [A-IMG-4]",
		}},
		{Track: "main", Name: "image check of main", Begin: "3.00s", Took: "4ms", Flow: true, Details: []string{
			"critical path: yes", "detail 1: registry.example/web:2", "detail 2: pulling image registry.example/web:2 [A-IMG-4]",
		}},
		{Track: "main", Name: "creation of main", Begin: "7.21s", Took: "30ms", Flow: true, Details: []string{"critical path: yes"}},
		{Track: "main", Name: "start of main", Begin: "7.24s", Took: "50ms", Flow: true, Details: []string{"critical path: yes", "detail 1: started [A-ACT-10]"}},
		{Track: "main", Name: "startup of main", Begin: "7.29s", Took: "2.01s", Flow: true, Details: []string{"critical path: yes"}},
		{Track: "main", Name: "readiness of main", Begin: "9.30s", Took: "1.00s", Flow: true, Details: []string{
			"critical path: yes", "detail 1: has started up (startup probe succeeded) [A-CST-12]",
		}},
		{Track: "main", Name: "main ready", Begin: "10.3s", Took: "12.7s"},
		{Track: "main", Name: "preStop hook of main", Begin: "23.0s", Took: "1.00s"},
		{Track: "main", Name: "main stopping", Begin: "24.0s", Took: "700ms", Details: []string{
			"detail 1: exit code 143, Error", "detail 2: exited 143 (restartPolicy OnFailure) [A-RST-1]",
		}},
		{Track: "startup probe of main", Name: "failed, 1 in a row", Begin: "8.30s", Details: []string{
			"text: dial tcp 10.0.0.2:8080: connect: connection refused",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every bar of every life is there once, on tracks on which nothing overlaps; several pods are several
// groups; nothing is said that somebody's terminal obeys.
func TestAll(t *testing.T) {
	var charts []*timeline.Chart
	records, now := timelinetest.Train()
	for _, c := range []*timeline.Chart{
		timeline.Of(timelinetest.Web(), time.Time{}), timeline.Of(timelinetest.Crashing()), timeline.Of(timelinetest.Unpullable()),
		timeline.Of(timelinetest.Resumed()), timeline.Of(timelinetest.Malicious()), timeline.OfGroup(timeline.NameOf("default", "train"), records, now, 0),
	} {
		charts = append(charts, c)
		if len(charts) == 1 { // what was begun twice overlaps
			r := &c.Rows[2]
			r.Bars = append(r.Bars, r.Bars[0])
			slices.SortStableFunc(r.Bars, func(x, y timeline.Bar) int { return x.Begin.Compare(y.Begin) })
		}
	}
	want := 0
	for _, c := range charts {
		for _, r := range c.Rows {
			want += len(r.Bars) + len(r.Marks)
		}
	}
	trace := write(t, charts...)
	if got := len(read(t, trace, timelinetest.Begin)); got != want {
		t.Errorf("%d slices and instants, want %d", got, want)
	}
	if bytes.Contains(trace, []byte("\x1b[")) || bytes.Contains(trace, []byte("\u202e")) {
		t.Error("the trace has escapes")
	}
}
