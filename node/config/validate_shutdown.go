package config

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// The feature gates of the periods at a shutdown of the machine; both are on by default.
const (
	shutdownGate           = "GracefulNodeShutdown"
	shutdownByPriorityGate = "GracefulNodeShutdownBasedOnPodPriority"
)

func validateShutdown(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	total, critical := c.ShutdownGracePeriod, c.ShutdownGracePeriodCriticalPods
	errs := gather(secondOrMore("shutdownGracePeriod", total), secondOrMore("shutdownGracePeriodCriticalPods", critical))
	if critical.Duration > total.Duration {
		errs = append(errs, field.Invalid(below("shutdownGracePeriodCriticalPods"), critical.Duration.String(),
			fmt.Sprintf("is a part of shutdownGracePeriod, and should be %s at most", total.Duration)))
	}
	simple, byPriority := total.Duration != 0 || critical.Duration != 0, len(c.ShutdownGracePeriodByPodPriority) > 0
	path := below("shutdownGracePeriodByPodPriority")
	if byPriority && simple {
		errs = append(errs, field.Forbidden(path, "may not be set together with shutdownGracePeriod"))
	}
	for i, p := range c.ShutdownGracePeriodByPodPriority {
		if p.ShutdownGracePeriodSeconds < 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("shutdownGracePeriodSeconds"), p.ShutdownGracePeriodSeconds, "should be at least 0"))
		}
	}
	needs := func(path *field.Path, gate string) {
		if on, set := c.FeatureGates[gate]; set && !on {
			errs = append(errs, field.Forbidden(path, "requires feature gate "+gate))
		}
	}
	if simple {
		needs(below("shutdownGracePeriod"), shutdownGate)
	}
	if byPriority {
		needs(path, shutdownGate)
		needs(path, shutdownByPriorityGate)
	}
	return errs
}

// secondOrMore refuses durations that are no time for a pod.
func secondOrMore(path string, d metav1.Duration) field.ErrorList {
	if d.Duration == 0 || d.Duration >= time.Second {
		return nil
	}
	return field.ErrorList{field.Invalid(below(path), d.Duration.String(), "should be 0, or at least 1s")}
}
