package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes rows below their heads, in columns three spaces apart.
func Table(w io.Writer, heads []string, rows [][]string) error {
	out := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	if heads != nil {
		fmt.Fprintln(out, strings.Join(heads, "\t"))
	}
	for _, row := range rows {
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}
