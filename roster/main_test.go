package roster

import (
	"flag"
	"testing"

	"github.com/lifepod/lifepod/internal/prove/seeded"
)

// compareEvery is after how many steps of a walk everything is compared: the machine with a clone, and its books with its pods.
var compareEvery = flag.Int("compare", 1, "compare a machine with its clone after every so many steps of a walk")

// TestMain has walks for less than two seconds in a usual run of the tests.
func TestMain(m *testing.M) {
	seeded.Main(m, map[string]string{"rapid.checks": "300", "rapid.nofailfile": "true", "rapid.shrinktime": "5s"})
}
