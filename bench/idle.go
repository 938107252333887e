package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// idleTime is for how long an agent that has nothing to do is watched.
const idleTime = 20 * time.Second

// idle measures an agent in a process of its own that runs pods which do nothing.
func idle(ctx context.Context, root string, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\nan agent with pods that do nothing, watched for %v (to reach with 50: ≤ 45 MiB, < 1 %%):\n", idleTime)
	for _, pods := range []int{1, 50} {
		command := exec.CommandContext(ctx, self, "-idle", strconv.Itoa(pods), "-idle-root", root)
		command.Stdout, command.Stderr = out, os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("idle agent with %d pods: %w", pods, err)
		}
	}
	return nil
}

func beIdle(ctx context.Context, root string, pods int) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	runtime, err := bundle.Open(ctx, bundle.Config{Root: root, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runtime.Close(context.WithoutCancel(ctx))) }()
	client, err := cri.Dial(runtime.Endpoint())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	b, err := newBed(ctx, runtimes{carried: runtime, client: client}, log)
	if err != nil {
		return err
	}
	defer b.close()
	lives := make([]*life, pods)
	if err := bare.Together(pods, pods, func(i int) (err error) { lives[i], err = b.begin(ctx, b.numbered(i)); return err }); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // the start is over
	before, err := process.CPUTime(os.Getpid())
	if err != nil {
		return err
	}
	began := time.Now()
	time.Sleep(idleTime)
	after, err := process.CPUTime(os.Getpid())
	if err != nil {
		return err
	}
	resident, _, err := process.Memory(os.Getpid())
	if err != nil {
		return err
	}
	fmt.Printf("  %2d pods: %.1f MiB RSS, %.2f %% of a core\n", pods, resident, 100*(after-before).Seconds()/time.Since(began).Seconds())
	return bare.Together(pods, pods, func(i int) error { return lives[i].end(lifecycle.StopRequested{Force: true}) })
}
