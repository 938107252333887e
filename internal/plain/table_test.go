package plain

import (
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// Columns are as wide as what is in them looks, and where the terminal is narrower, no word is broken; rows that follow have the same.
func TestTable(t *testing.T) {
	rows := [][]string{{"NAME", "STATUS", "MESSAGE"}, {"网页", "CrashLoopBackOff", "back-off 10s restarting failed container worker"}}
	for columns, want := range map[int]string{
		0: "NAME  STATUS            MESSAGE\n网页  CrashLoopBackOff  back-off 10s restarting failed container worker\nx     y                 z",
		// The last column may be narrower than a word, the others not.
		38: "NAME  STATUS            MESSAGE\n网页  CrashLoopBackOff  back-off 10s\n                        restarting\n                        failed\n                        container\n                        worker\nx     y                 z",
		20: "NAME  STATUS            MESSAGE\n网页  CrashLoopBackOff  back-off 10s restarting failed container worker\nx     y                 z",
	} {
		table := Table{Gap: "  ", Columns: columns}
		got := append(table.Lines(rows), table.Lines([][]string{{"x", "y", "z"}})...)
		assert.Equal(t, want, strings.Join(got, "\n"), "in %d columns", columns)
	}
}
