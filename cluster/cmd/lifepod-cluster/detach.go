package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/lifepod/lifepod/cluster"
)

// readyVariable tells a process in the background that somebody waits at its file 3.
const readyVariable = "LIFEPOD_READY"

// logLines is how much of the log is shown of one that did not come up.
const logLines = 10

// upDetached starts the same command line in the background and waits until the
// cluster is ready.
func upDetached(ctx context.Context, out io.Writer, root string) error {
	if os.Geteuid() != 0 {
		return errors.New("lifepod up needs root: run it with sudo")
	}
	logFile, err := cluster.LogFile(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(logFile), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	at, _ := log.Seek(0, io.SeekEnd) // 0: more is shown
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool {
		return arg == "--detach" || strings.HasPrefix(arg, "--detach=")
	})...)
	command.Args[0] = "lifepod"
	command.Env = append(os.Environ(), readyVariable+"=1")
	command.Stdout, command.Stderr, command.ExtraFiles = log, log, []*os.File{write}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return err
	}
	_ = write.Close() // the child's end is its own
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	defer stop()
	var ready cluster.Ready
	if err := json.NewDecoder(read).Decode(&ready); err != nil {
		_ = command.Wait() // how it ended its log says
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the cluster did not come up:\n%s\nMore is in %s", tail(logFile, at), logFile)
	}
	printReady(out, root, ready)
	return nil
}

// tail is the last lines of a file from a place on.
func tail(path string, from int64) string {
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) < from {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text[from:])), "\n")
	return strings.Join(lines[max(0, len(lines)-logLines):], "\n")
}
