package machine

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Suite runs a package's tests on real containers and ends the process with their exit code: all that a TestMain does. run
// gets a folder, which is removed afterwards, and the lifepod that is tested, see Binary.
func Suite(repository string, run func(work, program string) (code int, err error)) {
	flag.Parse()
	code, err := suite(repository, run)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		code = 1
	}
	os.Exit(code)
}

func suite(repository string, run func(work, program string) (int, error)) (code int, err error) {
	if os.Geteuid() != 0 {
		return 1, errors.New("these tests run containers: run them as root")
	}
	if err := Parallel(); err != nil {
		return 1, err
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // below nohup the programs under test would ignore it
	klog.SetLogger(logr.Discard())                         // it would log connections that break to stderr
	work, err := os.MkdirTemp("", "lp-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	program, err := Binary(repository, work)
	if err != nil {
		return 1, err
	}
	return run(work, program)
}

// Parallel has four tests run at a time, unless -test.parallel says otherwise: they wait more than they work.
func Parallel() error {
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", "4")
}
