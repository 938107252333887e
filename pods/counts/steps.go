package counts

import (
	"reflect"
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

// steps are the labels of effects. What has none, such as a probe, is no step of a pod's life.
var steps = map[reflect.Type]string{
	reflect.TypeFor[lifecycle.EnsureCgroup]():    "create_cgroup",
	reflect.TypeFor[lifecycle.RemoveCgroup]():    "remove_cgroup",
	reflect.TypeFor[lifecycle.MountVolumes]():    "mount_volumes",
	reflect.TypeFor[lifecycle.UnmountVolumes]():  "unmount_volumes",
	reflect.TypeFor[lifecycle.PrepareClaims]():   "prepare_claims",
	reflect.TypeFor[lifecycle.UnprepareClaims](): "unprepare_claims",
	reflect.TypeFor[lifecycle.InspectImage]():    "inspect_image",
	reflect.TypeFor[lifecycle.PullImage]():       "pull_image",
	reflect.TypeFor[lifecycle.CreateSandbox]():   "create_sandbox",
	reflect.TypeFor[lifecycle.StopSandbox]():     "stop_sandbox",
	reflect.TypeFor[lifecycle.RemoveSandbox]():   "remove_sandbox",
	reflect.TypeFor[lifecycle.CreateContainer](): "create_container",
	reflect.TypeFor[lifecycle.StartContainer]():  "start_container",
	reflect.TypeFor[lifecycle.StopContainer]():   "stop_container",
	reflect.TypeFor[lifecycle.RemoveContainer](): "remove_container",
	reflect.TypeFor[lifecycle.ResizeContainer](): "resize_container",
}

func stepOf(effect lifecycle.Effect) string {
	if e, is := effect.(lifecycle.RunHook); is {
		if e.Hook == lifecycle.PostStart {
			return "post_start_hook"
		}
		return "pre_stop_hook"
	}
	return steps[reflect.TypeOf(effect)]
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
