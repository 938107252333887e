package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
)

var (
	binary string // the lifepod that is tested
	shared *root  // the state folder of the tests that need none of their own
)

// TestMain runs the tests and looks for what they left.
func TestMain(m *testing.M) {
	machine.Suite("..", func(work, program string) (int, error) {
		binary, shared = program, &root{dir: filepath.Join(work, "root")}
		code := m.Run()
		if left := shared.left(); len(left) > 0 {
			return code, fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
		}
		return code, nil
	})
}
