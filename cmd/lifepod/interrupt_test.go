package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/doctor"
)

// A signal ends a command, whose session is closed in good order.
func TestSignalClosesTheSession(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			closed := false
			open := func(context.Context) (*imageSession, error) {
				return &imageSession{
					Load: func(ctx context.Context, _ io.Reader) ([]string, error) {
						if err := unix.Kill(os.Getpid(), sig); err != nil {
							return nil, err
						}
						<-ctx.Done()
						return nil, errors.New("rpc error: code = Canceled")
					},
					Close: func() error { closed = true; return nil },
				}, nil
			}
			root := &cobra.Command{PersistentPreRun: cancelOnSignal, SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(newImageCommand(open, cobra.NoFileCompletions))
			root.SetArgs([]string{"image", "load", "-"})
			root.SetIn(bytes.NewReader(nil))
			var stderr bytes.Buffer
			code := exitCode(&stderr, root.ExecuteContext(t.Context()), 0)
			if code != 130 || stderr.String() != "lifepod: interrupted\n" || !closed {
				t.Errorf("exit code %d, %q, closed %v; want 130, interrupted, closed", code, stderr.String(), closed)
			}
		})
	}
}

// While the runtime starts, a signal is no error of lifepod either.
func TestSignalWhileOpening(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open := func(ctx context.Context) (*imageSession, error) { return nil, context.Cause(ctx) }
	err := withImages(ctx, open, nil)
	if code := exitCode(io.Discard, err, 0); code != 130 {
		t.Errorf("%v: exit code %d, want 130", err, code)
	}
}

func TestInterruptedDoctor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	command := newDoctorCommand(doctorHost{Options: func() (doctor.Options, error) { return doctor.Options{Root: t.TempDir()}, nil }})
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{})
	if err := command.ExecuteContext(ctx); !errors.Is(err, errInterrupted) {
		t.Errorf("want %v, got %v", errInterrupted, err)
	}
}

// run ends its pod by itself: its context isn't touched.
func TestRunOwnsItsSignals(t *testing.T) {
	root := newRootCommand(time.Time{}, new(int))
	for _, command := range root.Commands() {
		command.SetContext(t.Context())
		cancelOnSignal(command, nil)
		if owns := command.Context() == t.Context(); owns != (command.Name() == "run") {
			t.Errorf("%s: owns its signals: %v", command.Name(), owns)
		}
	}
}

func TestExitCode(t *testing.T) {
	cases := []struct {
		err  error
		want int
	}{{nil, 7}, {errChecksFailed, 1}, {errors.New("x"), 125}, {errors.Join(errInterrupted, errors.New("x")), 130}}
	for _, c := range cases {
		if got := exitCode(io.Discard, c.err, 7); got != c.want {
			t.Errorf("%v: want %d, got %d", c.err, c.want, got)
		}
	}
}
