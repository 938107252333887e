package podlog

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestLines(t *testing.T) {
	records := []string{
		"2026-01-02T03:04:01Z stdout F one\n",
		"2026-01-02T03:04:02Z stdout P tw\n",
		"2026-01-02T03:04:02.5Z stderr F err\n",
		"2026-01-02T03:04:03Z stdout F o\n",
		"no record\n",
		"2026-01-02T03:04:04Z stdout P thr\n",
	}
	since := time.Date(2026, 1, 2, 3, 4, 2, 200_000_000, time.UTC)
	for _, tc := range []struct {
		name    string
		options LineOptions
		live    bool // before the last record
		want    string
	}{
		{"all", LineOptions{Tail: -1}, false, "one\nerr\ntwo\nthr"},
		{"tail", LineOptions{Tail: 2}, false, "two\nthr"},
		{"tail none", LineOptions{Tail: 0}, false, ""},
		{"tail none, then live", LineOptions{Tail: 0}, true, "thr"},
		{"tail, then live", LineOptions{Tail: 1}, true, "two\nthr"},
		{"tail of more", LineOptions{Tail: 100}, false, "one\nerr\ntwo\nthr"},
		{"since", LineOptions{Tail: -1, Since: since}, false, "err\nthr"},
		{"tail, then since", LineOptions{Tail: 2, Since: since}, false, "err\nthr"},
		{"timestamps", LineOptions{Tail: 2, Timestamps: true}, false, "2026-01-02T03:04:02.000000000Z two\n2026-01-02T03:04:04.000000000Z thr"},
		{"one stream", LineOptions{Tail: -1, Stream: "stderr"}, false, "err\n"},
		{"limit", LineOptions{Tail: -1, Limit: 6}, false, "one\ner"},
		{"limit of exactly all", LineOptions{Tail: -1, Limit: 15}, false, "one\nerr\ntwo\nthr"},
		{"limit of the end", LineOptions{Tail: 1, Limit: 2}, false, "th"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got strings.Builder
			l := NewLines(&got, tc.options)
			for i, record := range records {
				if tc.live && i == len(records)-1 {
					l.Live()
				}
				l.Record(record)
			}
			l.Flush()
			l.Live()
			diff := cmp.Diff(tc.want, got.String())
			assert.True(t, diff == "" && (l.Err() != nil) == (tc.options.Limit > 0), "%v (-want +got):\n%s", l.Err(), diff)
		})
	}
}

// A line without an end does not run into what another stream or another instance has
// written; what the same stream writes goes on with it, and has one time.
func TestUnfinishedLines(t *testing.T) {
	const at, stamp = "2026-01-02T03:04:01Z ", "2026-01-02T03:04:01.000000000Z "
	long := strings.Repeat("x", maxLine)
	for _, tc := range []struct {
		name    string
		options LineOptions
		records []string // "flush" is the end of an instance
		want    string
	}{
		{"both streams", LineOptions{Tail: -1}, []string{"stdout P out", "stderr P err"}, "out\nerr"},
		{"of the end", LineOptions{Tail: 1}, []string{"stdout P out", "stderr P err"}, "err"},
		{"next instance", LineOptions{Tail: -1}, []string{"stdout P one", "flush", "stdout F two"}, "one\ntwo\n"},
		{"next instance, kept", LineOptions{Tail: 5}, []string{"stdout P one", "flush", "stdout F two"}, "one\ntwo\n"},
		{"a long line", LineOptions{Tail: -1, Timestamps: true}, []string{"stdout P " + long, "stdout F end"}, stamp + long + "end\n"},
		{"into a long line", LineOptions{Tail: -1, Timestamps: true}, []string{"stdout P " + long, "stderr F err", "stdout F end"}, stamp + long + "\n" + stamp + "err\n" + stamp + "end\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got strings.Builder
			l := NewLines(&got, tc.options)
			for _, record := range tc.records {
				if record == "flush" {
					l.Flush()
					continue
				}
				l.Record(at + record + "\n")
			}
			l.Flush()
			l.Live()
			assert.Deep(t, "", tc.want, got.String())
		})
	}
}
