package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// root is one state folder of lifepod.
type root struct{ dir string }

// newRoot is a state folder for one test. When the test ends, nothing may be
// left of it.
func newRoot(t *testing.T) *root {
	t.Helper()
	dir := assert.Get(os.MkdirTemp("", "lp-")).Must(t)
	r := &root{dir: dir}
	t.Cleanup(func() {
		if left := r.left(); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
			// A test that broke off leaves its pods: later tests, and whoever uses the machine, should not find them.
			down := r.lifepod(t, "", "down", "--purge")
			t.Logf("lifepod down --purge: exit code %d\n%s%s", down.code, down.stdout, down.stderr)
		}
		assert.NoError(t, os.RemoveAll(dir))
	})
	return r
}

func (r *root) seen() machine.Root { return machine.Root{Dir: r.dir} }

func (r *root) runDir() string      { return r.seen().RunDir() }
func (r *root) cgroup() string      { return r.seen().Cgroup() }
func (r *root) left() []string      { return r.seen().Left() }
func (r *root) processes() []string { return r.seen().Processes() }
func (r *root) mounts() []string    { return r.seen().Mounts() }
