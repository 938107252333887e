// Command guest runs in a test machine, as a systemd service. It takes scripts from the
// virtio port, runs them one after the other, and reports output and exit codes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/e2e/testmachine/wire"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "guest: %v\n", err)
		os.Exit(1)
	}
}

// serve answers requests until the port is closed.
func serve() error {
	// A file that Go polls would see the end of the port whenever nobody listens.
	fd, err := syscall.Open("/dev/virtio-ports/"+wire.Port, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the virtio port: %w", err)
	}
	port := os.NewFile(uintptr(fd), wire.Port)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	reports := json.NewEncoder(port)
	if err := reports.Encode(wire.Report{Boot: strings.TrimSpace(string(boot))}); err != nil {
		return err
	}
	lines := bufio.NewReader(port)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the virtio port: %w", err)
		}
		var request wire.Request
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("request %q: %w", line, err)
		}
		if err := reports.Encode(run(request, reports)); err != nil {
			return err
		}
	}
}

// run returns when the script has ended. What it has left in the background does not
// hold it up.
func run(request wire.Request, reports *json.Encoder) wire.Report {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(request.Seconds)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", request.Script)
	cmd.Dir = "/root"
	cmd.Env = append(os.Environ(), "HOME=/root")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	output := outputWriter{id: request.ID, reports: reports}
	cmd.Stdout, cmd.Stderr = output, output
	err := cmd.Run()
	report := wire.Report{ID: request.ID}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		report.Error = fmt.Sprintf("not ended within %d s", request.Seconds)
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		report.Error = err.Error()
	}
	code := cmd.ProcessState.ExitCode()
	report.Exit = &code
	return report
}

// outputWriter reports what is written to it. exec.Cmd writes to it from one goroutine
// as stdout and stderr are the same.
type outputWriter struct {
	id      int
	reports *json.Encoder
}

func (o outputWriter) Write(p []byte) (int, error) {
	return len(p), o.reports.Encode(wire.Report{ID: o.id, Output: string(p)})
}
