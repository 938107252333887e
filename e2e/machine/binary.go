package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Binary is the path of the lifepod under test: $LIFEPOD, or one built into the
// folder work of the sources. repository is the path of its root from the
// working directory; a relative $LIFEPOD is relative to it.
func Binary(repository, work string) (string, error) {
	if path := os.Getenv("LIFEPOD"); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(repository, path)
		}
		return filepath.Abs(path)
	}
	if _, err := os.Stat(filepath.Join(repository, "bundle", "assets", "manifest.json")); err != nil {
		return "", errors.New("the bundled runtime isn't built: run `make runtime` first, or set LIFEPOD to a built binary")
	}
	path := filepath.Join(work, "lifepod")
	build := exec.Command("go", "build", "-o", path, "./cmd/lifepod")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build lifepod: %w\n%s", err, out)
	}
	return path, nil
}
