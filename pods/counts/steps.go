package counts

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Carried counts an effect that was carried out (worker.Watch).
func (c *Counts) Carried(pod *v1.Pod, effect lifecycle.Effect, answer lifecycle.Fact, took time.Duration) {
	if e, is := effect.(lifecycle.Tell); is {
		c.rememberCause(pod, e.Report)
		return
	}
	step := stepOf(effect)
	if step == "" {
		return
	}
	result := "ok"
	if fact, is := answer.(interface{ Answered() lifecycle.Result }); is {
		result = resultOf(fact.Answered().Failure)
	}
	c.steps.WithLabelValues(step, result).Observe(took.Seconds())
	if pulled, is := answer.(lifecycle.ImagePulled); is && pulled.Failure == nil && pulled.Image != nil {
		c.pulledBytes.Add(float64(pulled.Image.SizeBytes))
	}
}

// stepOf is the label of an effect; empty for what is not a step of a pod's life, such as a probe.
func stepOf(effect lifecycle.Effect) string {
	switch e := effect.(type) {
	case lifecycle.EnsureCgroup:
		return "create_cgroup"
	case lifecycle.RemoveCgroup:
		return "remove_cgroup"
	case lifecycle.MountVolumes:
		return "mount_volumes"
	case lifecycle.UnmountVolumes:
		return "unmount_volumes"
	case lifecycle.PrepareClaims:
		return "prepare_claims"
	case lifecycle.UnprepareClaims:
		return "unprepare_claims"
	case lifecycle.InspectImage:
		return "inspect_image"
	case lifecycle.PullImage:
		return "pull_image"
	case lifecycle.RunHook:
		if e.Hook == lifecycle.PostStart {
			return "post_start_hook"
		}
		return "pre_stop_hook"
	}
	return stepOfRuntime(effect)
}

// stepOfRuntime is the label of an effect that the runtime carries out.
func stepOfRuntime(effect lifecycle.Effect) string {
	switch effect.(type) {
	case lifecycle.CreateSandbox:
		return "create_sandbox"
	case lifecycle.StopSandbox:
		return "stop_sandbox"
	case lifecycle.RemoveSandbox:
		return "remove_sandbox"
	case lifecycle.CreateContainer:
		return "create_container"
	case lifecycle.StartContainer:
		return "start_container"
	case lifecycle.StopContainer:
		return "stop_container"
	case lifecycle.RemoveContainer:
		return "remove_container"
	case lifecycle.ResizeContainer:
		return "resize_container"
	}
	return ""
}

func resultOf(failure *lifecycle.Failure) string {
	switch {
	case failure == nil:
		return "ok"
	case failure.Class == lifecycle.Cancelled:
		return "cancelled"
	}
	return "failed"
}

// causes are the labels of what led to a restart.
var causes = []string{
	completed, failed, oomKilled, "liveness_probe", "startup_probe", "post_start_hook", "requested", "changed", "resized", "all_containers", "unknown_state",
}

// Of an exit that lifepod has not caused.
const (
	completed = "completed"
	failed    = "failed"
	oomKilled = "oom_killed"
)

// causeOf is what a report says about why a container is to end; empty: nothing.
func causeOf(r lifecycle.Report) string {
	switch r.Kind {
	case lifecycle.KindProbeFailed:
		return r.On + "_probe"
	case lifecycle.KindReplaced:
		return "changed"
	case lifecycle.KindHookFailed:
		if r.On == "postStart" {
			return "post_start_hook"
		}
	case lifecycle.KindRestartRequested:
		if r.Outcome == "" { // else nothing comes of it
			return "requested"
		}
	case lifecycle.KindResized:
		return "resized"
	case lifecycle.KindUnknownState:
		return "unknown_state"
	default:
	}
	return ""
}

// rememberCause keeps why a container is to end, for its restart.
func (c *Counts) rememberCause(pod *v1.Pod, r lifecycle.Report) {
	cause := causeOf(r)
	if cause == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(pod).causes[r.Subject] = cause
}
