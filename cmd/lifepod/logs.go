package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/unattended"
)

// podLogFlags are those of lifepod logs.
type podLogFlags struct {
	options  client.LogOptions
	since    time.Duration
	previous int // how many instances before the newest
	all      bool
}

func newLogsCommand(g *global) *cobra.Command {
	var on *onPod
	l := &podLogFlags{}
	command := &cobra.Command{
		Use:   "logs [flags] POD [CONTAINER]",
		Short: "Show what a pod's containers have written",
		Long: `Show what a container of a pod has written.

With -f also what it writes from now on, over restarts, until the container has
ended for good or the pod is gone. Of a pod that has ended, and of older instances
(--previous=2), the journal has the last 64 KiB.`,
		Args: podAndContainer(&l.options.Container),
		RunE: func(command *cobra.Command, args []string) error {
			if err := l.check(command); err != nil {
				return err
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			var left *client.UnattendedError
			switch {
			case errors.As(err, &left):
				err = l.showLeft(command, left.Pod)
			case err == nil && l.previous > 1:
				err = l.showLeft(command, unattended.Pod{Pod: pod.Pod, Journals: on.global.journals()})
			case err == nil:
				err = l.show(command, pod)
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	command.ValidArgsFunction = g.completePodContainer
	flags := command.Flags()
	flags.StringVarP(&l.options.Container, "container", "c", "", "`name` of the container; without it the pod's first")
	flags.BoolVar(&l.all, "all-containers", false, "of all containers, each line with its container's name")
	flags.BoolVarP(&l.options.Follow, "follow", "f", false, "show what comes, too")
	flags.IntVarP(&l.previous, "previous", "p", 0, "of the instance before the last restart; =`N`: of that many before")
	flags.Lookup("previous").NoOptDefVal = "1"
	flags.Int64Var(&l.options.Tail, "tail", -1, "only so many `lines` from the end")
	commandline.DurationVar(flags, &l.since, "since", 0, "only lines not older than this `duration`")
	flags.BoolVar(&l.options.Timestamps, "timestamps", false, "each line begins with its time")
	return command
}

func (l *podLogFlags) check(command *cobra.Command) error {
	switch {
	case l.all && l.options.Container != "":
		return errors.New("-c and --all-containers exclude each other")
	case l.previous < 0:
		return fmt.Errorf("--previous=%d: want 1 or more", l.previous)
	case l.options.Follow && l.previous > 0:
		return errors.New("-f and --previous exclude each other: the previous instance has ended")
	case l.options.Tail < 0 && command.Flags().Changed("tail"):
		return fmt.Errorf("--tail %d: want 0 or more", l.options.Tail)
	case l.since < 0 || l.since == 0 && command.Flags().Changed("since"):
		return fmt.Errorf("--since %v: want a duration above 0, such as 5m", l.since)
	}
	l.options.Previous = l.previous > 0
	if l.since > 0 {
		l.options.Since = time.Now().Add(-l.since)
	}
	return nil
}

func (l *podLogFlags) show(command *cobra.Command, pod *client.Pod) error {
	if l.all {
		return l.showAll(command, pod)
	}
	s := sessionFlags{container: l.options.Container}
	l.options.Container = s.choose(command, pod)
	return copyLog(command.Context(), pod, l.options, command.OutOrStdout())
}

func copyLog(ctx context.Context, pod *client.Pod, o client.LogOptions, w io.Writer) error {
	log, err := pod.Log(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	shown, end := onTerminal(w)
	defer end()
	return copyLines(shown, log)
}

// onTerminal is where a stream of a container's output goes to: if that is a terminal, nothing
// but its colours gets there as it is. end is called when all is written.
func onTerminal(out io.Writer) (shown io.Writer, end func()) {
	if _, is := plain.Terminal(out); !is {
		return out, func() {}
	}
	w := plain.OutputWriter(out)
	return w, func() { _ = w.Close() } // a terminal that has gone needs nothing
}

// copyLines copies a log. If it breaks off, the error does not run into its last line.
func copyLines(w io.Writer, log io.Reader) error {
	out := &lastByte{w: w, last: '\n'}
	_, err := io.Copy(out, log)
	if err == nil {
		return nil
	}
	if out.last != '\n' {
		_, _ = io.WriteString(w, "\n") // a reader that has gone ends the process
	}
	return fmt.Errorf("the log ended early: %w", err)
}

// lastByte remembers how what was written ends.
type lastByte struct {
	w    io.Writer
	last byte
}

// Write writes.
func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.last = p[len(p)-1]
	}
	return l.w.Write(p)
}

// showAll shows all containers: one after the other, or, followed, as they write.
func (l *podLogFlags) showAll(command *cobra.Command, pod *client.Pod) error {
	out := newSharedLines(command.OutOrStdout())
	var showing sync.WaitGroup
	lost := make(chan error, 1)
	for _, name := range control.ContainerNames(pod.Pod) {
		o := l.options
		o.Container = name
		one := func() {
			err := out.copy(command.Context(), pod, o)
			if _, is := errors.AsType[*client.LostError](err); is {
				select {
				case lost <- err:
				default: // all have lost the same lifepod
				}
			} else if err != nil && command.Context().Err() == nil {
				warn(command.ErrOrStderr(), "%v", err)
			}
		}
		if o.Follow {
			showing.Go(one)
		} else {
			one()
		}
	}
	showing.Wait()
	select {
	case err := <-lost:
		return err
	default:
		return command.Context().Err()
	}
}

// sharedLines is an output that several logs are written to, line by line.
type sharedLines struct {
	mu     sync.Mutex
	w      io.Writer
	screen bool // w is a terminal, which must not obey what containers write
}

func newSharedLines(w io.Writer) *sharedLines {
	_, screen := plain.Terminal(w)
	return &sharedLines{w: w, screen: screen}
}

func (s *sharedLines) copy(ctx context.Context, pod *client.Pod, o client.LogOptions) error {
	log, err := pod.Log(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	in := bufio.NewReader(log)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			s.put(o.Container, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the log of %s ended early: %w", o.Container, err)
		}
	}
}

func (s *sharedLines) put(container, line string) {
	if line[len(line)-1] != '\n' {
		line += "\n"
	}
	if s.screen {
		line = (&plain.Output{}).Text(line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.w, container+" | "+line) // a reader that has gone ends the process
}
