// Measure prints how large the functions, types and packages of a checkout are, the
// largest first: the figures that internal/architecture holds.
//
//	go run ./hack/measure [-top N] [FOLDER]
package main

import (
	"flag"
	"fmt"
	"log"

	"github.com/lifepod/lifepod/internal/architecture/measure"
)

func main() {
	log.SetFlags(0)
	top := flag.Int("top", 10, "how many of each kind are shown")
	flag.Parse()
	folder := "."
	if flag.NArg() > 0 {
		folder = flag.Arg(0)
	}
	f, err := measure.Of(folder)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d lines in %d packages\n", measure.Sum(f.Lines, "."), len(f.Lines))
	for _, kind := range []struct {
		what  string
		list  []measure.Figure
		limit int
	}{
		{"lines of packages", f.Lines, 3000},
		{"lines of files", f.Files, 400},
		{"fields of structs, flattened through embedding", f.Fields, 15},
		{"methods of types", f.Methods, 20},
		{"imports of packages", f.Imports, 25},
		{"parameters of functions", f.Parameters, 4},
		{"lines of functions", f.Functions, 60},
		{"cyclomatic complexity of functions", f.Complexity, 15},
	} {
		above := measure.Above(kind.list, kind.limit)
		fmt.Printf("\n%s: %d above %d\n", kind.what, len(above), kind.limit)
		for _, figure := range kind.list[:min(*top, len(kind.list))] {
			fmt.Printf("%7d  %s\n", figure.Value, figure.Name)
		}
	}
}
