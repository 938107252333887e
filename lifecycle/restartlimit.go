package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// tuningOf reads the annotations of one container. CheckAnnotations has refused invalid
// ones; here they count as absent.
func tuningOf(pod *v1.Pod, container string) tuning {
	t := tuning{maxRestarts: -1}
	if len(pod.Annotations) == 0 {
		return t
	}
	annotation := func(kind string) string {
		if v, ok := pod.Annotations[AnnotationPrefix+kind+"."+container]; ok {
			return v
		}
		return pod.Annotations[AnnotationPrefix+kind]
	}
	if p, err := ParseBackoff(annotation(backOffKey)); err == nil {
		t.backOff = &p
	}
	t.afterSuccess = annotation(afterSuccessKey) == "none"
	if n, window, err := parseMaxRestarts(annotation(maxRestartsKey)); err == nil {
		t.maxRestarts, t.window = n, window
	}
	return t
}

func podTuningOf(pod *v1.Pod) podTuning {
	if text, asked := pod.Annotations[AnnotationPrefix+restartAllKey]; asked {
		if p, err := ParseBackoff(text); err == nil {
			return podTuning{restartAll: &p}
		}
	}
	return podTuning{}
}

// crashPolicy is the back-off that applies to the container.
func (m *Machine) crashPolicy(c *container) BackoffPolicy {
	if c.tuning.backOff != nil {
		return *c.tuning.backOff
	}
	return m.options.CrashBackOff
}

// limitRestarts ends the pod instead of a restart that exceeds the limit.
func limitRestarts(s *step, c *container, v verdict) verdict {
	ownDoing := c.Asked && (c.Kill == nil || c.Kill.Uncounted) || c.Exit.Reason == "ContainerStatusUnknown" // resized, or its sandbox was lost
	if !v.Restart || ownDoing || !countRestart(s, c) {
		return v
	}
	limit := fmt.Sprintf("%smax-restarts: %d", AnnotationPrefix, c.tuning.maxRestarts)
	if c.tuning.window > 0 {
		limit += " in " + shortDuration(c.tuning.window)
	}
	return verdict{Terminate: true, Limit: true, Because: Because{Text: limit}, Rule: "A-RST-2"}
}

// countRestart counts a restart and says whether it exceeds the limit within the
// container's window. Without a limit it counts nothing.
func countRestart(s *step, c *container) (tooMany bool) {
	if c.tuning.maxRestarts < 0 {
		return false
	}
	if c.tuning.window > 0 {
		c.RestartedAt = slices.DeleteFunc(slices.Clone(c.RestartedAt), func(t time.Time) bool { return s.now.Sub(t) >= c.tuning.window })
	}
	if len(c.RestartedAt) >= c.tuning.maxRestarts {
		return true
	}
	c.RestartedAt = append(slices.Clone(c.RestartedAt), s.now)
	return false
}

// shortDuration is a duration without the parts that are zero: 10m, not 10m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
