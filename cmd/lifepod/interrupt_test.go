package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/doctor"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

// A signal ends a command, whose session is closed in good order.
func TestSignalClosesTheSession(t *testing.T) {
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, unix.SIGHUP, unix.SIGQUIT) // also where the tests run under nohup
	defer signal.Stop(taken)
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
			assert.True(t, code == 130 && stderr.String() == "lifepod: interrupted\n" && closed,
				"exit code %d, %q, closed %v; want 130, interrupted, closed", code, stderr.String(), closed)
		})
	}
}

// TestMessagesArePlain: errors and warnings that quote a manifest, a registry or a pod
// reach the terminal without control characters.
func TestMessagesArePlain(t *testing.T) {
	var stderr bytes.Buffer
	exitCode(&stderr, errors.New("pull: \x1b[2J\u009b31m\rdenied\nmore"), 0)
	warn(&stderr, "%v", errors.New("\x1b]0;title\a"))
	assert.Deep(t, "", "lifepod: pull: ^[[2J\\u009b31m\\rdenied\nmore\nwarning: ^[]0;title^G\n", stderr.String())
	image := images.Image{ID: "sha256:\x1b[2J", Username: "\x1b[2J\u009b", Tags: []string{"\x1b[2J:1"}}
	for _, output := range []string{"wide", "json"} {
		var out bytes.Buffer
		assert.Must(t, printImages(&out, []images.Image{image}, output))
		assert.True(t, !strings.ContainsFunc(out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }),
			"image ls -o %s: %q", output, out.String())
	}
	for _, output := range []string{"yaml", "json"} {
		var out bytes.Buffer
		pod := &v1.Pod{Status: v1.PodStatus{Message: "\x1b[2J\u009b\x7f: x"}}
		assert.Must(t, printObject(&out, pod, output))
		assert.True(t, !strings.ContainsFunc(out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }), "-o %s: %q", output, out.String())
		var back v1.Pod
		err := yaml.Unmarshal(out.Bytes(), &back)
		assert.True(t, err == nil && back.Status.Message == pod.Status.Message, "-o %s reads back as %q, %v", output, back.Status.Message, err)
	}
}

// While the runtime starts, a signal is no error of lifepod either.
func TestSignalWhileOpening(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open := func(ctx context.Context) (*imageSession, error) { return nil, context.Cause(ctx) }
	err := withImages(ctx, open, nil)
	assert.Deep(t, fmt.Sprintf("%v: exit code", err), 130, exitCode(io.Discard, err, 0))
}

func TestInterruptedDoctor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	command := newDoctorCommand(doctorHost{Options: func() (doctor.Options, error) { return doctor.Options{Root: t.TempDir()}, nil }})
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{})
	assert.ErrorIs(t, errInterrupted, command.ExecuteContext(ctx))
}

// run ends its pod by itself: its context isn't touched.
func TestRunOwnsItsSignals(t *testing.T) {
	root := newRootCommand(time.Time{}, new(int))
	for _, command := range root.Commands() {
		command.SetContext(t.Context())
		cancelOnSignal(command, nil)
		assert.Deep(t, fmt.Sprintf("%s: owns its signals", command.Name()), command.Name() == "run", command.Context() == t.Context())
	}
}

func TestExitCode(t *testing.T) {
	cases := []struct {
		err  error
		want int
	}{{nil, 7}, {errChecksFailed, 1}, {errors.New("x"), 125}, {fmt.Errorf("x: %w", &client.LostError{}), 123}, {errors.Join(errInterrupted, errors.New("x")), 130}}
	for _, c := range cases {
		assert.Equal(t, c.want, exitCode(io.Discard, c.err, 7), "%v", c.err)
	}
}
