package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"time"
)

const (
	journalProgram = "journalctl"
	// lastOutput is how long its output is waited for once it has ended.
	lastOutput = time.Second
	// journalTime is how journalctl reads a time that is not the machine's zone's.
	journalTime = "2006-01-02 15:04:05 UTC"
)

// copy writes what services have logged: those that the journal knows from it, the others
// from files of their names (A-NODE-4, A-NODE-5).
func (h handler) copy(ctx context.Context, w io.Writer, q query) {
	var inJournal, inFiles []string
	units := journalUnits(ctx)
	for _, service := range q.services {
		if strings.Contains(units, service+".service") {
			inJournal = append(inJournal, service)
		} else {
			inFiles = append(inFiles, service)
		}
	}
	if len(inJournal) > 0 {
		copyJournal(ctx, w, inJournal, q.filter)
	}
	switch {
	case len(inFiles) == 0:
	case q.filter != filter{}:
		_, _ = fmt.Fprintf(w, "\noptions present and query resolved to log files for %v\ntry without specifying options\n", inFiles)
	default:
		for _, service := range inFiles {
			h.copyFiles(ctx, w, service)
		}
	}
}

// journalUnits has the names of all units that the journal has entries of; empty on a
// machine without one.
func journalUnits(ctx context.Context) string {
	out, err := command(ctx, "--field", "_SYSTEMD_UNIT").Output()
	if err != nil {
		return ""
	}
	return string(out)
}

func command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, journalProgram, args...)
	c.WaitDelay = lastOutput
	return c
}

func copyJournal(ctx context.Context, w io.Writer, services []string, f filter) {
	c := command(ctx, f.arguments(services)...)
	c.Stdout, c.Stderr = w, w
	err := c.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) && (f.boot == nil || *f.boot == 0) {
		_, _ = fmt.Fprint(w, "\nerror: journal output not available\n")
	}
}

// arguments are those of journalctl.
func (f filter) arguments(services []string) []string {
	args := []string{"--utc", "--no-pager", "--output=short-precise"}
	if f.since != nil {
		args = append(args, "--since="+f.since.UTC().Format(journalTime))
	}
	if f.until != nil {
		args = append(args, "--until="+f.until.UTC().Format(journalTime))
	}
	if f.lines != nil {
		args = append(args, "--pager-end", fmt.Sprintf("--lines=%d", *f.lines))
	}
	for _, service := range services {
		args = append(args, "--unit="+service)
	}
	if f.pattern != "" {
		args = append(args, "--grep="+f.pattern)
	}
	if f.boot != nil {
		args = append(args, "--boot", fmt.Sprint(*f.boot))
	}
	return args
}

// copyFiles writes the log of a service that is a file: the first of its possible places.
func (h handler) copyFiles(ctx context.Context, w io.Writer, service string) {
	err := fs.ErrNotExist
	for _, name := range []string{service, service + ".log", service + "/" + service + ".log"} {
		if err = h.copyFile(ctx, w, name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, _ = fmt.Fprintf(w, "\nlog not found for %s\n", service)
	case err != nil:
		_, _ = fmt.Fprintf(w, "\nerror getting log for %s: %v\n", service, err)
	}
}

// copyFile writes a file; a folder is none.
func (h handler) copyFile(ctx context.Context, w io.Writer, name string) error {
	file, err := h.folder.Open(name)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = file.Close() }) // ends the copy
	defer func() {
		if stop() {
			_ = file.Close() // only read
		}
	}()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return errors.Join(err, fs.ErrNotExist)
	}
	_, err = io.Copy(w, file)
	return err
}
