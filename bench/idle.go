package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
)

// idleTime is for how long a run in the background that has nothing to do is watched.
const idleTime = 20 * time.Second

// idle measures runs in the background of pods that do nothing, without the container runtime below them.
func (c command) idle(ctx context.Context, out io.Writer) error {
	_, _ = fmt.Fprintf(out, "\nlifepod run -d of pods that do nothing, watched for %v:\n", idleTime)
	for _, pods := range []int{1, 50} {
		load, err := c.idleWith(ctx, pods)
		if err := errors.Join(err, c.do(ctx, "down")); err != nil {
			return fmt.Errorf("%d pods that do nothing: %w", pods, err)
		}
		_, _ = fmt.Fprintf(out, "  %2d pods: %.1f MiB PSS, %v\n", pods, load.Proportional, load)
	}
	return nil
}

func (c command) idleWith(ctx context.Context, pods int) (l process.Load, err error) {
	file, err := manifest(filepath.Dir(c.root), pods, "sleep", "infinity")
	if err != nil {
		return l, err
	}
	if err := c.do(ctx, "run", "-d", file); err != nil {
		return l, err
	}
	paths, err := bundle.Locate(c.root, "")
	if err != nil {
		return l, err
	}
	pod, err := client.New(control.Folder(paths.RunDir), c.root).Find(ctx, "bench-0", "default")
	if err != nil {
		return l, err
	}
	owner, err := pod.Owner()
	if err != nil {
		return l, err
	}
	time.Sleep(2 * time.Second) // the start is over
	return process.LoadOf(func() error { time.Sleep(idleTime); return nil }, owner)
}
