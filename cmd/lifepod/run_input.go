package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
)

// attachToRun has a session with the container of a pod that lifepod run -i has begun, and ends the pod with it.
func (g *global) attachToRun(command *cobra.Command, name string) (int, error) {
	ctx := command.Context()
	c, err := g.pods()
	if err != nil {
		return 0, err
	}
	pod, err := c.Find(ctx, name, "")
	if err != nil {
		return 0, interrupted(ctx, err)
	}
	code, err := talk(command, pod, func(l podLogFlags) error {
		var left *client.UnattendedError
		if _, err := c.Find(ctx, name, ""); errors.As(err, &left) {
			return l.showLeft(command, left.Pod)
		}
		return nil
	})
	ending := context.WithoutCancel(ctx)
	if stopped := pod.Stop(ending, nil); stopped == nil {
		_ = pod.Wait(ending) // the session's end is what counts
	}
	return code, interrupted(ctx, err)
}

// talk has the session, to the end of the container's first instance. kept shows a log of the pod when that is gone.
func talk(command *cobra.Command, pod *client.Pod, kept func(podLogFlags) error) (int, error) {
	ctx := command.Context()
	at := slices.IndexFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Stdin })
	container := pod.Spec.Containers[at].Name
	s := sessionFlags{stdin: true}
	s.tty, _ = command.Flags().GetBool("tty")
	state, err := awaitStart(command, pod, container)
	if err != nil {
		return 0, err
	}
	instance := int32(0)
	if status := control.StatusOf(pod.Pod, container); status != nil {
		instance = status.RestartCount
	}
	type end struct {
		code int32
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		if e.code, e.err = pod.AwaitEnd(ctx, container, instance); e.err == nil && !s.tty {
			_ = pod.Stop(ctx, nil) // its log ends, too
		}
		ended <- e
	}()
	shown := &written{Writer: command.OutOrStdout(), any: !s.tty}
	if s.tty {
		command.SetOut(shown)
	}
	err = s.join(command, pod, container, state.Running != nil)
	if !shown.any { // it may have ended before it was joined
		l := podLogFlags{options: client.LogOptions{Container: container, Tail: -1}}
		if copyLog(ctx, pod, l.options, shown) != nil { // the pod, too
			_ = kept(l) // the session's end is what counts
		}
	}
	select {
	case e := <-ended:
		return int(e.code), e.err
	case <-time.After(endPatience): // the connection to it has ended
		return 0, err
	}
}

// written notes whether anything was, but the end of a line: a terminal gives that by itself, also of a line that it has given before
// this was joined.
type written struct {
	io.Writer
	any bool
}

func (w *written) Write(p []byte) (int, error) {
	w.any = w.any || len(bytes.TrimSpace(p)) > 0
	return w.Writer.Write(p)
}
