package architecture

import (
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// oldestGo is the first release whose os.Root, in which volumes and files of pods are
// opened and changed, can't be left: by a link in place of what Chmod changes
// (CVE-2026-32282, 1.26.2), by a link and a slash after it (CVE-2026-39822, 1.26.5); and
// whose net/http and crypto/tls have no hole that is known (1.26.6).
const oldestGo = "go1.26.6"

// TestGo: no module may be built with an older one.
func TestGo(t *testing.T) {
	modules := 0
	assert.Must(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".cache" || entry.Name() == ".git" || entry.Name() == "assets"):
			return fs.SkipDir
		case entry.Name() != "go.mod":
			return nil
		}
		modules++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			wants, is := strings.CutPrefix(strings.TrimSpace(line), "go ")
			assert.True(t, !is || version.Compare("go"+wants, oldestGo) >= 0, "%s wants go %s, want %s or newer", path, wants, oldestGo)
		}
		return nil
	}))
	assert.True(t, modules >= 5, "%d modules were found", modules)
}

// TestPrograms: the tests of each package are a program, which is linked anew after a change of whatever it imports. Those of a
// small package belong to the package above it, or to one that uses it.
func TestPrograms(t *testing.T) {
	command := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", module+"/...")
	command.Dir = "../.."
	out, err := command.Output()
	assert.Require(t, err == nil, "%s: %v", command, err)
	programs := len(strings.Fields(string(out)))
	assert.True(t, programs >= 10 && programs <= 80, "%d packages have tests: at most 80", programs)
}

// TestVersions: what the modules of the program and of its clusters share has the same version in both, so that it is compiled
// once for both: in another version of one module all that imports it is compiled again.
func TestVersions(t *testing.T) {
	root := requires(t, "../../go.mod")
	for _, module := range []string{"cluster", "e2e/simulated/operator"} {
		shared := 0
		for path, version := range requires(t, "../../"+module+"/go.mod") {
			if want := root[path]; want != "" {
				shared++
				assert.Equal(t, want, version, module+" has of "+path)
			}
		}
		assert.True(t, shared >= 30, "%s shares %d modules", module, shared)
	}
}

// requires are the modules that a go.mod requires, with their versions.
func requires(t *testing.T, name string) map[string]string {
	text := assert.Get(os.ReadFile(name)).Must(t)
	versions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "\t") && len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}
	return versions
}
