package simulated

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestForeignModule: a module elsewhere has lifepodtest by go get, without replace lines. What it gets is the commit that is checked out
// here, as git has it.
func TestForeignModule(t *testing.T) {
	t.Parallel()
	repository := assert.Get(filepath.Abs("../..")).Must(t)
	run := func(dir string, environment []string, name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir, c.Env = dir, append(os.Environ(), environment...)
		out, err := c.CombinedOutput()
		assert.Require(t, err == nil, "%s %q: %v\n%s", name, args, err, out)
		return strings.TrimSpace(string(out))
	}
	commit := run(repository, nil, "git", "rev-parse", "HEAD")
	foreign := []string{
		"GOFLAGS=" + os.Getenv("GOFLAGS") + " -modcacherw", "GOSUMDB=off", "GOMODCACHE=" + t.TempDir(), "GONOPROXY=github.com/lifepod",
		"GOPROXY=file://" + run(repository, nil, "go", "env", "GOMODCACHE") + "/cache/download," + run(repository, nil, "go", "env", "GOPROXY"),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + repository + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/lifepod/lifepod",
	}
	dir := t.TempDir()
	assert.Must(t, os.WriteFile(filepath.Join(dir, "operator_test.go"), []byte("package operator\n\nimport \"github.com/lifepod/lifepod/lifepodtest\"\n\nvar _ = lifepodtest.Start\n"), 0o600))
	run(dir, foreign, "go", "mod", "init", "example.com/operator")
	run(dir, foreign, "go", "get", "github.com/lifepod/lifepod/lifepodtest@"+commit)
	run(dir, foreign, "go", "mod", "tidy")
	run(dir, foreign, "go", "vet", "./...")
}
