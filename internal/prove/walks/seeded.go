package walks

import (
	"flag"
	"os"
	"testing"
)

// Main runs the tests of a package with random walks, for TestMain. Random walks go the same way each time, so that a failure is of the change at hand, unless
// -rapid.seed says otherwise: make soak walks others (-rapid.seed=0). A failing walk prints its seed, which is all that is needed to
// walk it again. usual has flags that hold unless the command line has them.
func Main(m *testing.M, usual map[string]string) {
	set("rapid.seed", "1")
	for name, value := range usual {
		set(name, value)
	}
	flag.Parse()
	os.Exit(m.Run())
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}
