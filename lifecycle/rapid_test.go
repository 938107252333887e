package lifecycle

import (
	"flag"
	"strconv"
)

// usualChecks is how many walks a run of the tests takes: they take two seconds and come by
// every rare branch several times.
const usualChecks = 500

// compareEvery is after how many steps of a walk everything is compared with a clone.
var compareEvery = flag.Int("compare", 1, "compare a machine with its clone after every so many steps of a walk")

// A failing walk prints its seed, which is all that is needed to walk it again
// (-rapid.seed); files of failures would be taken for transcripts.
func init() {
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(usualChecks), "rapid.nofailfile": "true", "rapid.shrinktime": "5s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
