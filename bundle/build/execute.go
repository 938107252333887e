package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"
)

// say tells who waits for the build what is done.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bundle/build: "+format+"\n", args...)
}

// progressInterval is the time between two reports of how many packages have been compiled.
const progressInterval = 15 * time.Second

// execute runs cmd in dir; its output is part of the error. What Go downloads for it is
// shown at once, and now and then how many packages it has compiled: on a new machine that
// takes longer than anything else.
func execute(cmd *exec.Cmd, dir, what string) error {
	out := &transcript{downloads: os.Stderr, packages: slices.Contains(cmd.Args, "-v")}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	ticker, ended := time.NewTicker(progressInterval), make(chan struct{})
	defer ticker.Stop()
	defer close(ended)
	go func() {
		for shown := int64(0); ; {
			select {
			case <-ended:
				return
			case <-ticker.C:
				if n := out.compiled.Load(); n > shown {
					say("%s: %d packages so far", what, n)
					shown = n
				}
			}
		}
	}()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", what, err, bytes.TrimSpace(out.all.Bytes()))
	}
	return nil
}

// transcript is what a command prints, but for what `go build -v` prints, the packages
// that are compiled: it counts them. It passes on the lines that say what Go downloads.
type transcript struct {
	all       bytes.Buffer
	looked    int // bytes of all whose lines were looked at
	downloads io.Writer
	packages  bool // lines of one word are packages that are compiled
	compiled  atomic.Int64
}

func (t *transcript) Write(text []byte) (int, error) {
	t.all.Write(text)
	for {
		line, _, whole := bytes.Cut(t.all.Bytes()[t.looked:], []byte("\n"))
		switch {
		case !whole:
			return len(text), nil
		case t.packages && len(line) > 0 && !bytes.ContainsAny(line, " \t:"):
			t.compiled.Add(1)
			rest := bytes.Clone(t.all.Bytes()[t.looked+len(line)+1:])
			t.all.Truncate(t.looked)
			t.all.Write(rest)
			continue
		case bytes.HasPrefix(line, []byte("go: downloading ")):
			fmt.Fprintf(t.downloads, "%s\n", line)
		}
		t.looked += len(line) + 1
	}
}

func output(ctx context.Context, dir string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("%s: %w\n%s", cmd, err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return out, nil
}
