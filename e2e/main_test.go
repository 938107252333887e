package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/e2e/machine"
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
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // below nohup the programs under test would ignore it
	klog.SetLogger(logr.Discard())                         // it would log connections that break to stderr
	if binary, err = machine.Binary("..", work); err != nil {
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
	return flag.Set("test.parallel", "4")
}
