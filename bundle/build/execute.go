package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// say tells who waits for the build what is done.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bundle/build: "+format+"\n", args...)
}

// execute runs cmd in dir; its output is part of the error. What Go downloads for it is
// shown at once: on a new machine that takes longer than anything else.
func execute(cmd *exec.Cmd, dir, what string) error {
	out := &transcript{downloads: os.Stderr}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", what, err, bytes.TrimSpace(out.all.Bytes()))
	}
	return nil
}

// transcript is what a command prints. It passes on the lines that say what Go downloads.
type transcript struct {
	all       bytes.Buffer
	shown     int // bytes of all whose lines were looked at
	downloads io.Writer
}

func (t *transcript) Write(text []byte) (int, error) {
	t.all.Write(text)
	for {
		line, _, whole := bytes.Cut(t.all.Bytes()[t.shown:], []byte("\n"))
		if !whole {
			return len(text), nil
		}
		t.shown += len(line) + 1
		if bytes.HasPrefix(line, []byte("go: downloading ")) {
			fmt.Fprintf(t.downloads, "%s\n", line)
		}
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
