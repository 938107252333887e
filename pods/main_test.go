package pods

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// usualChecks is how many walks a run of the tests takes: about a second each.
const usualChecks = 30

// A failing walk prints its seed, which is all that is needed to walk it again (-rapid.seed).
func init() {
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(usualChecks), "rapid.nofailfile": "true", "rapid.shrinktime": "10s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// TestMain has random walks go the same way each time, so that a failure is of the change at hand. make soak walks others
// (-rapid.seed=0).
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
