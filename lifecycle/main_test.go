package lifecycle

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes random walks the same each time, so that a failure comes from the change
// at hand. make soak takes other walks (-rapid.seed=0).
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.seed" })
	if !given {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
