package lifecycle

import (
	"flag"
	"strconv"
	"testing"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// usualChecks is how many walks a run of the tests takes: they take two seconds and come by
// every rare branch several times.
const usualChecks = 500

// compareEvery is after how many steps of a walk everything is compared with a clone.
var compareEvery = flag.Int("compare", 1, "compare a machine with its clone after every so many steps of a walk")

// TestMain keeps no files of failures, which would be taken for transcripts.
func TestMain(m *testing.M) {
	walks.Main(m, map[string]string{"rapid.checks": strconv.Itoa(usualChecks), "rapid.nofailfile": "true", "rapid.shrinktime": "5s"})
}
