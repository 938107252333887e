package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// pipes is the folder that all workers share, with a pipe for each from which it reads until it exits.
type pipes string

func (p pipes) of(pod string) string { return filepath.Join(string(p), "exit-"+pod) }

func (p pipes) make(pods []string) error {
	for _, pod := range pods {
		if err := syscall.Mkfifo(p.of(pod), 0o600); err != nil {
			return fmt.Errorf("make the pipe of %s: %w", pod, err)
		}
	}
	return nil
}

// sendExit fails if no worker of the pod reads.
func (p pipes) sendExit(pod string) error {
	pipe, err := os.OpenFile(p.of(pod), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("have the worker of %s exit: %w", pod, err)
	}
	_, err = pipe.WriteString("exit\n")
	return errors.Join(err, pipe.Close())
}
