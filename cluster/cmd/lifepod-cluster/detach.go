package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/internal/logfile"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// readyVariable tells a process in the background that somebody waits at its file 3.
const readyVariable = "LIFEPOD_READY"

// logInterval is how often the size of the log of one in the background is looked at.
const logInterval = time.Minute

// upDetached starts the same command line in the background and waits until the
// cluster is ready.
func upDetached(ctx context.Context, out io.Writer, root string) error {
	if os.Geteuid() != 0 {
		return errors.New("only root may run a cluster: run it with sudo")
	}
	if err := cluster.Idle(root); err != nil {
		return err
	}
	logFile, err := cluster.LogFile(root)
	if err != nil {
		return err
	}
	if err := rootfolder.Ensure(filepath.Dir(logFile), 0o700); err != nil {
		return err
	}
	log, err := logfile.Open(logFile)
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
		said := strings.ReplaceAll("\n"+logfile.Tail(logFile, at), "\nlifepod: ", "\n") // this process says that
		return fmt.Errorf("the cluster did not come up:%s\nMore is in %s", said, logFile)
	}
	printReady(out, root, ready)
	return nil
}

// trimLog bounds the log of one in the background until ctx ends.
func trimLog(ctx context.Context, root string, log *slog.Logger) {
	file, err := cluster.LogFile(root)
	if err != nil {
		return // cluster.Run says so
	}
	ticker := time.NewTicker(logInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := logfile.Trim(file); err != nil {
				log.Warn("the log was not trimmed", "err", err)
			}
		}
	}
}
