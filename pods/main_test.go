package pods

import (
	"testing"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// TestMain has few walks in a usual run of the tests: a second of them.
func TestMain(m *testing.M) {
	walks.Main(m, map[string]string{"rapid.checks": "30", "rapid.nofailfile": "true", "rapid.shrinktime": "10s"})
}
