package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
)

// Table writes rows below their heads, in columns three spaces apart, which wrap where they are wider than the terminal.
func Table(w io.Writer, heads []string, rows [][]string) error {
	return TableLike(w, &plain.Table{}, append([][]string{heads}, rows...))
}

// TableLike writes rows in the columns of those that were written before.
func TableLike(w io.Writer, table *plain.Table, rows [][]string) error {
	table.Columns = plain.Columns(w)
	if all := lines(table, rows, plain.Colours(w)); len(all) > 0 {
		_, err := fmt.Fprintln(w, strings.Join(all, "\n"))
		return err
	}
	return nil
}

// lines has what a cell says on one line, without control characters, and words for how something is in colours.
func lines(table *plain.Table, rows [][]string, coloured bool) []string {
	table.Gap = "   "
	for r, row := range rows {
		rows[r] = slices.Clone(row)
		for i, cell := range row {
			rows[r][i] = toneOf(cell).Paint(coloured, plain.Line(cell))
		}
	}
	return table.Lines(rows)
}

// toneOf is the tone of kubectl's words for how a pod, a container or an event is; others have none.
func toneOf(word string) plain.Tone {
	switch word {
	case "Running", "Completed", "Succeeded", "ready", "done":
		return plain.Good
	case "Pending", "ContainerCreating", "PodInitializing", "Terminating", "NotReady", "Unattended", "not ready", "not started", "False":
		return plain.Busy
	case "Error", "Failed", "OOMKilled", "Evicted", "DeadlineExceeded", "StartError", "Warning":
		return plain.Bad
	}
	if !strings.Contains(word, " ") && (strings.HasSuffix(word, "BackOff") || strings.Contains(word, "Err") && strings.HasSuffix(word, "Pull") || strings.HasSuffix(word, "Error")) {
		return plain.Bad
	}
	return ""
}
