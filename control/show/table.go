package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lifepod/lifepod/internal/plain"
)

// Table writes rows below their heads, in columns three spaces apart. What a cell says is
// put on one line, without control characters.
func Table(w io.Writer, heads []string, rows [][]string) error {
	out := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	if heads != nil {
		fmt.Fprintln(out, strings.Join(heads, "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = plain.Line(cell)
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return out.Flush()
}
