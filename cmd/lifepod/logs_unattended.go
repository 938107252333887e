package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker/podlog"
)

// showLeft shows what there is of the logs of a pod that no lifepod leads, or what its journal has.
func (l *podLogFlags) showLeft(command *cobra.Command, pod unattended.Pod) error {
	if pod.Elsewhere {
		return errors.New(pod.Notice(fmt.Sprintf))
	}
	if l.options.Follow {
		warn(command.ErrOrStderr(), "-f has no effect: %s", pod.Notice(fmt.Sprintf))
	}
	o := podlog.LineOptions{Tail: l.options.Tail, Since: l.options.Since, Timestamps: l.options.Timestamps}
	names := control.ContainerNames(pod.Pod)
	if !l.all {
		container := l.options.Container
		if container == "" && len(names) > 0 {
			container = control.DefaultContainer(pod.Pod)
		}
		if l.options.Container == "" && len(names) > 1 {
			tellDefault(command, container, names)
		}
		shown, end := onTerminal(command.OutOrStdout())
		defer end()
		return pod.Log(shown, container, l.previous, o)
	}
	out := newSharedLines(command.OutOrStdout())
	for _, name := range names {
		if err := pod.Log(prefixed{out, name}, name, l.previous, o); err != nil {
			warn(command.ErrOrStderr(), "%v", err)
		}
	}
	return nil
}

// prefixed writes whole lines with their container's name in front.
type prefixed struct {
	to        *sharedLines
	container string
}

// Write takes one line.
func (p prefixed) Write(line []byte) (int, error) {
	if len(line) > 0 {
		p.to.put(p.container, string(line))
	}
	return len(line), nil
}
