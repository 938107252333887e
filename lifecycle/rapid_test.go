package lifecycle

import (
	"flag"
	"strconv"
)

// usualChecks is how many walks a run of the tests takes: they take two seconds and come by
// every rare branch several times.
const usualChecks = 500

// manyChecks is how many walks compare everything after each of their steps; those of CI do.
const manyChecks = 5000

// A failing walk prints its seed, which is all that is needed to walk it again
// (-rapid.seed); files of failures would be taken for transcripts.
func init() {
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(usualChecks), "rapid.nofailfile": "true", "rapid.shrinktime": "5s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
