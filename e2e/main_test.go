package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	binary string // the lifepod that is tested
	shared *root  // the state folder of the tests that need none of their own
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := testAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// testAll runs the tests and looks for what they left.
func testAll(m *testing.M) (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("these tests run containers: run them as root")
	}
	work, err := os.MkdirTemp("", "lp-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if binary, err = findBinary(work); err != nil {
		return 0, err
	}
	if err := parallelByDefault(); err != nil {
		return 0, err
	}
	shared = &root{dir: filepath.Join(work, "root")}
	code = m.Run()
	if left := shared.left(); len(left) > 0 {
		return code, fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
	return code, nil
}

// parallelByDefault lets more tests run at a time than there are CPUs: they
// mostly wait.
func parallelByDefault() error {
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if set {
		return nil
	}
	return flag.Set("test.parallel", "5")
}

// findBinary is $LIFEPOD, or one built of the sources around.
func findBinary(work string) (string, error) {
	if path := os.Getenv("LIFEPOD"); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join("..", path)
		}
		return filepath.Abs(path)
	}
	if _, err := os.Stat("../bundle/assets/manifest.json"); err != nil {
		return "", errors.New("the bundled runtime isn't built: run `make runtime` first, or set LIFEPOD to a built binary")
	}
	path := filepath.Join(work, "lifepod")
	build := exec.Command("go", "build", "-o", path, "../cmd/lifepod")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build lifepod: %w\n%s", err, out)
	}
	return path, nil
}
