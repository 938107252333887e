package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/bench/nodes/side"
	"github.com/lifepod/lifepod/bench/seen"
)

func roundOf(pods int, took time.Duration, idle float64) result {
	r := result{took: took, created: took / 2, gone: took}
	r.latencies = []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 20 * time.Millisecond}
	r.memory.idle, r.memory.busy = idle, idle+1
	r.untilReady.nodes = time.Duration(pods) * time.Millisecond
	r.writes = seen.Requests{Statuses: float64(pods), Events: 3 * float64(pods)}
	return r
}

// The table has the median of the rounds, and how many times better lifepod is: more pods in a second, or less memory.
func TestTable(t *testing.T) {
	all := results{pods: 1000, nodes: 100, of: map[string][]result{
		side.Lifepod: {roundOf(1000, 2*time.Second, 10), roundOf(1000, 50*time.Second, 11), roundOf(1000, time.Second, 12)},
		side.KWOK:    {roundOf(1000, 4*time.Second, 22)},
	}}
	var out strings.Builder
	all.print(&out, "headline")
	for _, want := range []string{
		"headline",
		"pods Ready  500 /s  250 /s 2.00× -",
		"create → Ready, median 20 ms 20 ms 1.00× -",
		"CPU of the nodes per pod, until Ready 1.00 ms 1.00 ms 1.00× -",
		"CPU of the nodes per pod, in all 0.00 ms 0.00 ms - -",
		"memory of the process without pods 11.0 MiB 22.0 MiB 2.00× -",
		"the same per node 113 KiB 225 KiB 2.00× -",
		"memory that each pod adds 1 KiB 1 KiB 1.00× -",
		"events written per pod 3.00 3.00 1.00× -",
	} {
		if !strings.Contains(squeeze(out.String()), squeeze(want)) {
			t.Errorf("there is no %q:\n%s", want, out.String())
		}
	}
}

// squeeze makes one space of all that follow one another.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
