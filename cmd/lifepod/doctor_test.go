package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/doctor"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/leftovers"
)

// runDoctor runs "lifepod doctor" on this machine with a runtime that answers
// with the given error.
func runDoctor(t *testing.T, runtime error, args ...string) (out, errOut string, err error) {
	t.Helper()
	command := newDoctorCommand(doctorHost{
		Options: func() (doctor.Options, error) {
			answer := func(context.Context) (string, error) { return "containerd 2.4.2", runtime }
			return doctor.Options{Root: t.TempDir(), Runtime: answer}, nil
		},
		Sweep: func(context.Context) ([]leftovers.Leftover, error) {
			return []leftovers.Leftover{{Kind: leftovers.Mount, Name: "/m"}}, nil
		},
	})
	var stdout, stderr bytes.Buffer
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(args)
	err = command.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func TestDoctorFailsWithAnError(t *testing.T) {
	out, _, err := runDoctor(t, errors.New("connection refused"), "-o", "json")
	assert.ErrorIs(t, errChecksFailed, err)
	var results []doctor.Result
	assert.Must(t, json.Unmarshal([]byte(out), &results))
	last := results[len(results)-1]
	assert.True(t, last.Name == "runtime" && last.Status == doctor.Error && last.Found == "connection refused", "want the runtime's error, got %+v", last)
}

// A doctor who could not look says so by its exit code.
func TestDoctorWhoCouldNotLook(t *testing.T) {
	command := newDoctorCommand(doctorHost{Options: func() (doctor.Options, error) {
		blind := func(context.Context) ([]leftovers.Leftover, error) { return nil, errors.New("permission denied") }
		return doctor.Options{Root: t.TempDir(), Leftovers: blind}, nil
	}})
	command.SetOut(io.Discard)
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{}) // with nil it takes the arguments of the test
	assert.Deep(t, "exit code", 2, exitCode(io.Discard, command.ExecuteContext(t.Context()), 0))
}

func TestDoctorSweepSaysWhat(t *testing.T) {
	_, errOut, _ := runDoctor(t, nil, "--sweep")
	want := "removed mount /m\n"
	assert.True(t, errOut == want, "want %q, got %q", want, errOut)
}

func TestDoctorWithoutSweep(t *testing.T) {
	command := newDoctorCommand(doctorHost{})
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	command.SetArgs([]string{"--sweep"})
	err := command.ExecuteContext(t.Context())
	assert.True(t, err != nil && err.Error() == "unknown flag: --sweep", "want the flag unknown, got %v", err)
}

// A root in use is left alone, and one that was never used isn't made.
func TestSweepRootRespectsItsUser(t *testing.T) {
	folder := t.TempDir()
	absent := filepath.Join(folder, "absent")
	swept, err := sweepRoot(t.Context(), absent, slog.New(slog.DiscardHandler))
	assert.True(t, len(swept) == 0 && err == nil, "absent root: want nothing, got %v, %v", swept, err)
	assert.Fails(t, assert.ErrorOf(os.Stat(absent)), "the absent root was made")
	paths := assert.Get(bundle.Locate(folder, "")).Must(t)
	used, err := rootInUse(paths)
	assert.True(t, !used && err == nil, "nobody uses it: want false, got %v, %v", used, err)
	release := assert.Get(paths.Exclude()).Must(t)
	used, err = rootInUse(paths)
	assert.True(t, used && err == nil, "in use: want true, got %v, %v", used, err)
	assert.ErrorIs(t, bundle.ErrInUse, assert.ErrorOf(sweepRoot(t.Context(), folder, slog.New(slog.DiscardHandler))), "in use")
	assert.Must(t, release())
	swept, err = sweepRoot(t.Context(), folder, slog.New(slog.DiscardHandler))
	assert.True(t, len(swept) == 0 && err == nil, "clean root: want nothing, got %v, %v", swept, err)
}
