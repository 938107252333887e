package stats

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Carried counts an effect that was carried out (worker.Watch).
func (m *Metrics) Carried(pod *v1.Pod, effect lifecycle.Effect, answer lifecycle.Fact, took time.Duration) {
	m.pods.own.Carried(pod, effect, answer, took)
	switch e := effect.(type) {
	case lifecycle.Probe:
		m.probes.probed(pod, e, answer.(lifecycle.Probed), took)
	case lifecycle.PullImage:
		m.pulled(pod, e, answer.(lifecycle.ImagePulled))
	case lifecycle.CreateSandbox:
		m.sandboxCreated(pod, answer.(lifecycle.SandboxCreated))
	case lifecycle.CreateContainer:
		failure := answer.(lifecycle.ContainerCreated).Failure
		m.pods.containers.WithLabelValues(kindOf(pod, e.Container)).Inc()
		m.failed(pod, e.Container, "CreateContainerError", failure)
		m.containerBegun(pod, e.Container, false, failure)
	case lifecycle.StartContainer:
		failure := answer.(lifecycle.ContainerStarted).Failure
		m.failed(pod, e.Container, "RunContainerError", failure)
		m.containerBegun(pod, e.Container, !hasPostStart(pod, e.Container), failure)
	case lifecycle.CountEviction:
		m.evictions.evicted.WithLabelValues(e.Signal).Inc()
	case lifecycle.RunHook:
		m.hookEnded(pod, e, answer.(lifecycle.HookEnded))
	case lifecycle.PrepareClaims:
		m.drivers.claimsHandled("PrepareResources", answer.(lifecycle.ClaimsPrepared).Failure, took)
	case lifecycle.UnprepareClaims:
		m.drivers.claimsHandled("UnprepareResources", answer.(lifecycle.ClaimsUnprepared).Failure, took)
	}
}

func (m *Metrics) hookEnded(pod *v1.Pod, e lifecycle.RunHook, answer lifecycle.HookEnded) {
	for _, warning := range answer.Warnings {
		if warning.Reason == "LifecycleHTTPFallback" { // A-HOOK-4, B-HOOK-5
			m.pods.fallbacks.Inc()
		}
	}
	if e.Hook == lifecycle.PostStart {
		m.failed(pod, e.Container, "PostStartHookError", answer.Failure)
		m.containerBegun(pod, e.Container, true, answer.Failure)
	}
}

// failed counts a container that could not be started; what was given up is no error.
func (m *Metrics) failed(pod *v1.Pod, container, code string, failure *lifecycle.Failure) {
	if failure == nil || failure.Class == lifecycle.Cancelled {
		return
	}
	if failure.Reason != "" {
		code = failure.Reason
	}
	m.pods.containerErrors.WithLabelValues(kindOf(pod, container), code).Inc()
}

func (m *Metrics) pulled(pod *v1.Pod, e lifecycle.PullImage, answer lifecycle.ImagePulled) {
	m.mu.Lock()
	if l := m.lives[pod.UID]; l != nil {
		l.pulling += answer.Took
	}
	m.mu.Unlock()
	if answer.Failure != nil {
		if e.Container != "" {
			m.pods.containers.WithLabelValues(kindOf(pod, e.Container)).Inc()
			m.failed(pod, e.Container, "ErrImagePull", answer.Failure)
		}
		return
	}
	if answer.Image != nil {
		m.pods.pulls.WithLabelValues(sizeLabel(answer.Image.SizeBytes)).Observe(answer.Took.Seconds())
	}
}

// kindOf is the kubelet's label of a container's kind.
func kindOf(pod *v1.Pod, name string) string {
	named := func(c v1.Container) bool { return c.Name == name }
	switch {
	case slices.ContainsFunc(pod.Spec.Containers, named):
		return "container"
	case slices.ContainsFunc(pod.Spec.InitContainers, named):
		return "init_container"
	}
	return "ephemeral_container"
}

// sizeLabel is the kubelet's label of an image's size.
func sizeLabel(bytes uint64) string {
	const mb = 1 << 20
	for _, class := range []struct {
		below uint64
		label string
	}{
		{10 * mb, "0-10MB"}, {100 * mb, "10MB-100MB"}, {500 * mb, "100MB-500MB"}, {1024 * mb, "500MB-1GB"}, {5 * 1024 * mb, "1GB-5GB"},
		{10 * 1024 * mb, "5GB-10GB"}, {20 * 1024 * mb, "10GB-20GB"}, {30 * 1024 * mb, "20GB-30GB"}, {40 * 1024 * mb, "30GB-40GB"},
		{60 * 1024 * mb, "40GB-60GB"}, {100 * 1024 * mb, "60GB-100GB"},
	} {
		if bytes < class.below {
			return class.label
		}
	}
	return "GT100GB"
}
