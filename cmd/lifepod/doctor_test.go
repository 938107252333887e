package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/lifepod/lifepod/doctor"
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
	if !errors.Is(err, errChecksFailed) {
		t.Errorf("want %v, got %v", errChecksFailed, err)
	}
	var results []doctor.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	last := results[len(results)-1]
	if last.Name != "runtime" || last.Status != doctor.Error || last.Found != "connection refused" {
		t.Errorf("want the runtime's error, got %+v", last)
	}
}

func TestDoctorSweepSaysWhat(t *testing.T) {
	_, errOut, _ := runDoctor(t, nil, "--sweep")
	if want := "swept up mount /m\n"; errOut != want {
		t.Errorf("want %q, got %q", want, errOut)
	}
}

func TestDoctorWithoutSweep(t *testing.T) {
	command := newDoctorCommand(doctorHost{})
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	command.SetArgs([]string{"--sweep"})
	if err := command.ExecuteContext(t.Context()); err == nil || err.Error() != "unknown flag: --sweep" {
		t.Errorf("want the flag unknown, got %v", err)
	}
}
