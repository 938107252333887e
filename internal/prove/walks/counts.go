// Package walks runs tests with random walks, has them tell what they came by, and sums it up.
package walks

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Prefixes of what is counted; what has none is a rare branch.
const (
	Lives = "lives"
	Steps = "steps"
	Fault = "fault: "
	State = "state: "
)

// logger is what of testing.T is used.
type logger interface {
	Helper()
	Logf(format string, args ...any)
}

// Log writes counts into a test's log: lives, steps, faults and states, and the rare
// branches that are named, also those that were not reached.
func Log(t logger, seen map[string]int, rare []string) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		if what == Lives || what == Steps || strings.HasPrefix(what, Fault) || strings.HasPrefix(what, State) {
			t.Logf("counted %d %s", seen[what], what)
		}
	}
	for _, what := range rare {
		t.Logf("counted %d %s", seen[what], what)
	}
}

var counted = regexp.MustCompile(`counted (\d+) (.+)$`)

// Add adds the counts in a test's log to a sum.
func Add(sum map[string]int, log io.Reader) error {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		match := counted.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		n, err := strconv.Atoi(match[1])
		if err != nil {
			return err
		}
		sum[match[2]] += n
	}
	return lines.Err()
}

// Print writes a sum: faults by kind, states, rare branches.
func Print(w io.Writer, name string, sum map[string]int) {
	fmt.Fprintf(w, "%s: %d lives, %d steps\n", name, sum[Lives], sum[Steps])
	for _, part := range []struct{ title, prefix string }{{"faults", Fault}, {"states", State}} {
		var list []string
		for _, what := range slices.Sorted(maps.Keys(sum)) {
			if name, is := strings.CutPrefix(what, part.prefix); is {
				list = append(list, fmt.Sprintf("%s %d", name, sum[what]))
			}
		}
		fmt.Fprintf(w, "  %d %s: %s\n", len(list), part.title, strings.Join(list, ", "))
	}
}

// Unreached lists the rare branches that nothing came by.
func Unreached(sum map[string]int) []string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(sum)) {
		if sum[what] == 0 {
			list = append(list, what)
		}
	}
	return list
}
