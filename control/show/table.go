package show

import (
	"fmt"
	"io"
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
	if all := lines(table, rows); len(all) > 0 {
		_, err := fmt.Fprintln(w, strings.Join(all, "\n"))
		return err
	}
	return nil
}

// lines has what a cell says on one line, without control characters.
func lines(table *plain.Table, rows [][]string) []string {
	table.Gap = "   "
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plain.Line(cell)
		}
	}
	return table.Lines(rows)
}
