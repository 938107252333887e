package architecture

import (
	"testing"

	"github.com/lifepod/lifepod/internal/architecture/measure"
)

// engine are the folders that take pods through their lives.
var engine = []string{"lifecycle", "roster", "worker", "pods", "node", "cri", "host", "run", "control"}

// TestSizesOnlyFall holds what code has been brought down to. The figures may only fall:
// whoever gets below one lowers it here. `go run ./hack/measure` prints them all.
func TestSizesOnlyFall(t *testing.T) {
	figures, err := measure.Of("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []struct {
		what    string
		list    []measure.Figure
		largest int
		many    int // from here on one counts as large
		large   int // how many are larger than that
	}{
		{"lines of a file", figures.Files, 388, 400, 0},
		{"lines of a function", figures.Functions, 60, 60, 0},
		{"cyclomatic complexity of a function", figures.Complexity, 26, 15, 7},
		{"parameters of a function", figures.Parameters, 6, 4, 18},
		{"fields of a struct, those of embedded ones included", figures.Fields, 41, 15, 25}, // journal.Entry and sim/scenario.Event are in files, and flat as those are
		{"methods of a type", figures.Methods, 85, 20, 28},                                  // lifecycle.waits and why.teller: one for each kind of wait, and of sentence
		{"packages that a package imports", figures.Imports, 81, 25, 47},                    // ui shows what a dozen packages know
	} {
		onlyFalls(t, "most "+size.what, size.list[0].Value, size.largest, size.list[0].Name)
		above := measure.Above(size.list, size.many)
		onlyFalls(t, "large ones by "+size.what, len(above), size.large, names(above))
	}
	if lines := measure.Sum(figures.Lines, engine...); lines > engineLines {
		t.Errorf("the engine has %d lines, more than %d: what does less need?", lines, engineLines)
	}
}

// engineLines is how long the engine may be.
const engineLines = 85_024

func onlyFalls(t *testing.T, what string, got, limit int, where string) {
	t.Helper()
	switch {
	case got > limit:
		t.Errorf("%s: %d, which may be %d at most: %s", what, got, limit, where)
	case got < limit:
		t.Errorf("%s: %d, which is better than %d: lower the limit", what, got, limit)
	}
}

func names(figures []measure.Figure) (list string) {
	for _, f := range figures {
		list += " " + f.Name
	}
	return list
}
