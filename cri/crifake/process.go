package crifake

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/sim/scenario"
)

// StartContainer runs a created container's program.
func (r *Runtime) StartContainer(ctx context.Context, in *runtimeapi.StartContainerRequest, _ ...callOption) (*runtimeapi.StartContainerResponse, error) {
	return ask(ctx, r, call{rpc: "StartContainer", subject: r.subjectOf(in.ContainerId)}, func(*runtimeapi.StartContainerResponse) error {
		c := r.container(in.ContainerId)
		if c == nil {
			return notFound(in.ContainerId)
		}
		return r.start(c)
	})
}

func (r *Runtime) start(c *container) error {
	if c.state != runtimeapi.ContainerState_CONTAINER_CREATED {
		return status.Errorf(codes.Unknown, "container %q is in state %s", c.id, c.state)
	}
	if c.run.StartError != "" {
		c.message = "failed to create containerd task: " + c.run.StartError
		c.ended(128, "StartError")
		return status.Error(codes.Unknown, c.message)
	}
	r.noteDouble(c)
	c.state, c.startedAt = runtimeapi.ContainerState_CONTAINER_RUNNING, time.Now()
	c.openLog()
	if c.says != "" {
		c.say("stdout", c.says)
	}
	for _, o := range c.run.Output {
		r.later(o.At.Draw(r.dice, 0), func() {
			if c.state == runtimeapi.ContainerState_CONTAINER_RUNNING {
				c.say(cmp.Or(o.Stream, "stdout"), o.Text)
			}
		})
	}
	r.emit(c.sandbox, c, started)
	if run := &c.run; !run.Run.Forever() && (run.Run != nil || run.Ends()) {
		code, reason := run.End()
		r.endAfter(c, run.Run.Draw(r.dice, scenario.UsualRun), code, reason)
	}
	return nil
}

// endAfter ends a container after some time; needs mu.
func (r *Runtime) endAfter(c *container, after time.Duration, code int32, reason string) {
	if after == 0 {
		r.exit(c, code, reason)
		return
	}
	r.later(after, func() { r.exit(c, code, reason) })
}

// noteDouble notes that a container is started while another instance of it runs.
func (r *Runtime) noteDouble(c *container) {
	for _, o := range r.containersFor(map[string]string{cri.PodUIDLabel: c.sandbox.config.Metadata.Uid}) {
		if o.state == runtimeapi.ContainerState_CONTAINER_RUNNING && o.config.Metadata.Name == c.config.Metadata.Name {
			r.doubled = append(r.doubled, o.id+" runs when "+c.id+" starts")
		}
	}
}

// Exit ends the running instance of pod/container, as if its process had.
func (r *Runtime) Exit(subject string, code int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containersFor(nil) {
		if c.subject().text == subject {
			r.exit(c, code, scenario.ReasonOf(code))
		}
	}
}

// exit ends a running container and tells of it; needs mu.
func (r *Runtime) exit(c *container, code int32, reason string) {
	if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return
	}
	c.leaveMessage()
	c.ended(code, reason)
	r.emit(c.sandbox, c, stopped)
}

func (c *container) ended(code int32, reason string) {
	c.state, c.finishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now()
	c.exitCode, c.reason = code, reason
	close(c.exited)
}

// leaveMessage writes the termination message through the container's mount.
func (c *container) leaveMessage() {
	for _, m := range c.config.Mounts {
		if m.ContainerPath == "/dev/termination-log" && c.run.Message != "" {
			if err := os.WriteFile(m.HostPath, []byte(c.run.Message), 0o600); err != nil {
				panic(err)
			}
		}
	}
}

// StopContainer sends the stop signal, waits for the timeout and kills. It
// answers when the container has exited; several may be under way. One that is
// not there is no error.
func (r *Runtime) StopContainer(ctx context.Context, in *runtimeapi.StopContainerRequest, _ ...callOption) (*runtimeapi.StopContainerResponse, error) {
	return &runtimeapi.StopContainerResponse{}, r.do(ctx, call{
		rpc: "StopContainer", subject: r.subjectOf(in.ContainerId), detail: fmt.Sprintf("timeout=%d", in.Timeout),
		effect: func(ctx context.Context) error {
			r.mu.Lock()
			c := r.container(in.ContainerId)
			if c == nil || c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
				r.mu.Unlock()
				return nil
			}
			if in.Timeout > 0 {
				r.signal(c)
			}
			down := r.down
			r.mu.Unlock()
			return r.waitOrKill(ctx, c, time.Duration(in.Timeout)*time.Second, down)
		},
	})
}

// signal is the stop signal's arrival; needs mu.
func (r *Runtime) signal(c *container) {
	stop := cmp.Or(c.run.Stop, &scenario.Stop{})
	if stop.Ignore || stop.After.Forever() {
		if c.says != "" {
			c.say("stdout", "told")
		}
		return
	}
	code := ptr.Deref(stop.Exit, 143)
	r.endAfter(c, stop.After.Draw(r.dice, scenario.UsualStop), code, scenario.ReasonOf(code))
}

// waitOrKill waits for the exit and kills when the timeout has passed.
func (r *Runtime) waitOrKill(ctx context.Context, c *container, timeout time.Duration, down <-chan struct{}) error {
	kill := time.NewTimer(timeout)
	defer kill.Stop()
	select {
	case <-c.exited:
		return nil
	case <-down:
		return errBroken
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-kill.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exit(c, 137, "Error")
	return nil
}
