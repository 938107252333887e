package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/machine"
)

// lifepodUp is the whole cluster in one process.
type lifepodUp struct {
	program, root string
	listen        string
	command       *exec.Cmd
	log           bytes.Buffer
}

func (l *lifepodUp) name() string { return lifepodSide }

func (l *lifepodUp) start(ctx context.Context) (*rest.Config, error) {
	if l.root == "" {
		root, err := os.MkdirTemp("", "lp-bench-up-")
		if err != nil {
			return nil, err
		}
		l.root = root
		port, err := machine.FreePort()
		if err != nil {
			return nil, err
		}
		l.listen = fmt.Sprintf("0.0.0.0:%d", port)
	}
	l.log.Reset()
	l.command = exec.Command(l.program, "up", "--root", l.root, "--node-name", "bench", "--listen", l.listen)
	l.command.Stdout, l.command.Stderr = &l.log, &l.log
	if err := l.command.Start(); err != nil {
		return nil, err
	}
	for { // until it has written how it is reached
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(l.root, "cluster", "kubeconfig"))
		if err == nil {
			return config, nil
		}
		if err := testbed.Sleep(ctx, 5*time.Millisecond); err != nil {
			return nil, errors.Join(err, errors.New(l.log.String()))
		}
	}
}

func (l *lifepodUp) ready(context.Context) error { return nil } // its first pod runs

func (l *lifepodUp) pids() []int { return []int{l.command.Process.Pid} }

func (l *lifepodUp) stop(context.Context) error {
	if l.command == nil || l.command.ProcessState != nil {
		return nil
	}
	if err := l.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = l.command.Wait() // how it ends is not what is measured
	return nil
}

func (l *lifepodUp) remove(ctx context.Context) error {
	if l.root == "" {
		return nil
	}
	err := l.stop(ctx)
	out, e := exec.CommandContext(ctx, l.program, "down", "--root", l.root, "--purge", "--grace-period", "1s").CombinedOutput()
	if e != nil {
		e = fmt.Errorf("%w: %s", e, out)
	}
	return errors.Join(err, e, os.RemoveAll(l.root))
}
