// Command testreport prints what hack/part and hack/gotest have noted of a run of the tests: how long each part
// took, the slowest tests, and those that failed once and passed when they were run again.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := filepath.Join(".cache", "tests")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	r, err := read(dir)
	if err == nil {
		_, err = os.Stdout.WriteString(r.String())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}
