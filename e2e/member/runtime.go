package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/e2e/machine"
)

// Runtime is a container runtime for the programs of a node, such as a kubelet, which use it one after the other: the one
// that lifepod carries, run by a lifepod without pods.
type Runtime struct {
	program string
	dir     string
	root    machine.Root
	process *machine.Process
}

// StartRuntime starts one with lifepod, and returns when it has the carried images. After an error nothing is left.
func StartRuntime(ctx context.Context, lifepod string) (*Runtime, error) {
	dir, err := os.MkdirTemp("", "lp-runtime-")
	if err != nil {
		return nil, err
	}
	r := &Runtime{program: lifepod, dir: dir, root: machine.Root{Dir: filepath.Join(dir, "root")}}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Runtime) start(ctx context.Context) error {
	manifests := filepath.Join(r.dir, "manifests")
	for _, folder := range []string{r.root.Dir, manifests} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
	}
	command := exec.Command(r.program, "agent", "--root="+r.root.Dir, "--manifests="+manifests)
	var err error
	if r.process, err = machine.StartProcess(command, filepath.Join(r.dir, "runtime.log")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !bytes.Contains(r.LastLines(20), []byte("lifepod agent runs")) { // and the carried images are there
		select {
		case <-r.process.Ended():
			return fmt.Errorf("the runtime has ended:\n%s", r.LastLines(20))
		case <-ctx.Done():
			return fmt.Errorf("the runtime does not begin: %w\n%s", ctx.Err(), r.LastLines(20))
		case <-time.After(20 * time.Millisecond): // nothing tells
		}
	}
	return nil
}

func (r *Runtime) Endpoint() string {
	return "unix://" + filepath.Join(r.root.RunDir(), "containerd.sock")
}

// LastLines are the last ones of its log.
func (r *Runtime) LastLines(count int) []byte { return r.process.LastLines(count) }

// Close ends it, and removes all that programs have left in it. What it leaves itself is an error.
func (r *Runtime) Close() error {
	var errs []error
	if r.process != nil {
		errs = append(errs, r.process.Signal(syscall.SIGTERM))
		<-r.process.Ended()
		if out, err := exec.Command(r.program, "doctor", "--sweep", "--root", r.root.Dir).CombinedOutput(); err != nil && len(r.root.Left()) > 0 {
			errs = append(errs, fmt.Errorf("sweep up after the runtime: %w\n%s", err, out))
		}
		if left := r.root.Left(); len(left) > 0 {
			errs = append(errs, fmt.Errorf("left of the runtime:\n  %s", strings.Join(left, "\n  ")))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}
