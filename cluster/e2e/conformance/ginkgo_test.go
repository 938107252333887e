//go:build conformance

package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

var (
	focus    = flag.String("conformance.focus", "", "run the tests whose names match this `pattern`, not all of the target's")
	skip     = flag.String("conformance.skip", "", "leave out the tests whose names match this `pattern`")
	parallel = flag.Int("conformance.parallel", 0, "so `many` tests at the same time, not as many as the target has; serial ones run alone")
	report   = flag.String("conformance.report", "", "write the table of passed tests to this `file`")
)

// suite says which of upstream's tests to run, and on what.
type suite struct {
	cache      string // .cache of the repository
	name       string // of the folder of what ginkgo prints, in the cache
	focus      string // of the names of tests, unless the flag says another
	skip       string // of the names of tests that can't run here
	parallel   int
	kubeconfig string
	registry   string   // where the images are
	args       []string // of e2e.test
}

// run runs them; one that fails fails the test.
func (s suite) run(ctx context.Context, t *testing.T) {
	t.Helper()
	out, env := s.prepare(t)
	bin := filepath.Join(s.cache, "conformance", "bin")
	command := exec.CommandContext(ctx, filepath.Join(bin, "ginkgo"), s.arguments(bin, out)...)
	command.Env = env
	s.judge(t, command, out)
}

// prepare makes the folder of what the tests print, and an environment that tells them
// where images are.
func (s suite) prepare(t *testing.T) (out string, env []string) {
	t.Helper()
	out = filepath.Join(s.cache, "conformance", s.name)
	assert.Must(t, os.RemoveAll(out))
	assert.Must(t, os.MkdirAll(out, 0o755))
	list := filepath.Join(out, "registries.yaml")
	assert.Must(t, os.WriteFile(list, fmt.Appendf(nil, "promoterE2eRegistry: %[1]s\ngcRegistry: %[1]s\ngcEtcdRegistry: %[1]s\nsigStorageRegistry: %[1]s\n", s.registry), 0o644))
	return out, append(os.Environ(), "KUBE_TEST_REPO_LIST="+list)
}

// judge runs the command of the tests and reads their report.
func (s suite) judge(t *testing.T, command *exec.Cmd, out string) {
	t.Helper()
	text := assert.Get(os.Create(filepath.Join(out, "e2e.log"))).Must(t)
	defer text.Close()
	command.Stdout, command.Stderr = text, text
	ended := command.Run()
	results := assert.Get(read(out)).Must(t)
	table := results.table()
	fmt.Print(table)
	if *report != "" {
		assert.Must(t, os.WriteFile(*report, []byte(table), 0o644))
	}
	for _, failed := range results.failed() {
		t.Errorf("%s\n%s", failed.Name, failed.why())
	}
	assert.True(t, len(results.tests()) != 0, "no test ran")
	assert.True(t, ended == nil, "ginkgo: %v; see %s", ended, text.Name())
}

// selection says which tests run, and how ginkgo prints them, in flags with a prefix.
func (s suite) selection(prefix string) []string {
	if *focus != "" {
		s.focus = *focus
	}
	flags := []string{prefix + "focus=" + s.focus, prefix + "timeout=6h", prefix + "silence-skips", prefix + "no-color"}
	for _, pattern := range []string{s.skip, *skip} {
		if pattern != "" {
			flags = append(flags, prefix+"skip="+pattern)
		}
	}
	return flags
}

// arguments are ginkgo's, and after -- those of e2e.test.
func (s suite) arguments(bin, out string) []string {
	if *parallel > 0 {
		s.parallel = *parallel
	}
	args := append(s.selection("--"), "--procs", fmt.Sprint(s.parallel), "--junit-report", "junit.xml", "--output-dir", out,
		filepath.Join(bin, "e2e.test"), "--",
		"--provider", "skeleton", "--kubeconfig", s.kubeconfig, "--kubectl-path", filepath.Join(s.cache, "controlplane", "bin", "kubectl"), "--disable-log-dump")
	return append(args, s.args...)
}
