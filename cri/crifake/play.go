package crifake

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Play says what happens in a runtime, in the place of programs, commands and faults. The
// runtime calls it with its lock held, one call at a time: it must not block, and not call
// the runtime. Configs must not be changed.
type Play interface {
	// Program is what a new instance does; an error refuses its creation.
	Program(pod *runtimeapi.PodSandboxConfig, container *runtimeapi.ContainerConfig) (Program, error)
	// Call is how a call goes.
	Call(what Doing) Conduct
	// Executed is what becomes of a command in a container, which was started so long ago.
	Executed(pod *runtimeapi.PodSandboxConfig, container *runtimeapi.ContainerConfig, since time.Duration) Executed
	// Image is whether an image is there without having been pulled, and its size.
	Image(name string) (present bool, bytes uint64)
	// SandboxEnds is after what time a new sandbox ends unasked, if it does.
	SandboxEnds(pod *runtimeapi.PodSandboxConfig) (after time.Duration, ends bool)
	// Gone says that nothing is left of a pod.
	Gone(podUID string)
}

// Doing is a call that begins.
type Doing struct {
	RPC       string
	Pod       *runtimeapi.PodSandboxConfig // nil: it is about no pod
	Container *runtimeapi.ContainerConfig  // nil: about none
	Image     string                       // empty: about none
	Usual     time.Duration                // that it takes
}

// Conduct is how a call goes.
type Conduct struct {
	Takes time.Duration
	Fail  string // it does nothing, and fails with these words; empty: it works
	Hang  bool   // it does nothing, and is never answered
}

// Executed is what becomes of a command.
type Executed struct {
	Takes  time.Duration
	Code   int32
	Output string
	Fail   string // it can't be run
}

// NewPlay is a runtime in which a play says what happens. It keeps no record of its calls, and
// takes no faults, programs and commands.
func NewPlay(play Play) *Runtime {
	r := New()
	r.play = play
	return r
}

// played is what the play says of a call, which counts as begun; needs mu.
func (r *Runtime) played(c *call) *fault {
	conduct := r.play.Call(Doing{RPC: c.rpc, Pod: c.subject.pod, Container: c.subject.container, Image: c.subject.image, Usual: c.takes})
	c.takes = conduct.Takes
	switch {
	case conduct.Hang:
		return &fault{verb: hang}
	case conduct.Fail != "":
		return &fault{verb: fail, err: status.Error(codes.Unknown, conduct.Fail)}
	}
	return nil
}

// command is what the play says of a command.
func (e Executed) command() command {
	return command{code: e.Code, out: e.Output, after: e.Takes, fails: e.Fail}
}

// endsLater has a sandbox end unasked if the play says so; needs mu.
func (r *Runtime) endsLater(s *sandbox) {
	if r.play == nil {
		return
	}
	after, ends := r.play.SandboxEnds(s.config)
	if !ends {
		return
	}
	time.AfterFunc(after, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.endSandbox(s)
	})
}

// gone tells the play of a pod's end if that was its last sandbox; needs mu.
func (r *Runtime) gone(s *sandbox) {
	uid := s.config.Metadata.Uid
	if r.play != nil && len(r.ofPod[uid]) == 0 {
		r.play.Gone(uid)
	}
}

// Running is how many containers run.
func (r *Runtime) Running() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containers {
		if c.state == runtimeapi.ContainerState_CONTAINER_RUNNING {
			n++
		}
	}
	return n
}
