package file

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario"
)

// resize holds a resize against what an API server takes (A-API-3). One after the other: each is of the pod as those before
// have left it.
func (c *checker) resize(path string, r *scenario.Resize) {
	if len(r.Requests) == 0 && len(r.Limits) == 0 {
		c.report(path, "should say requests, limits or both", "asks for nothing")
	}
	if r.Deferred != nil && r.Infeasible != "" {
		c.report(path, "should be one of them", "deferred and infeasible exclude each other")
	}
	if c.pod == nil {
		return
	}
	asked := v1.Container{Name: r.Container, Resources: v1.ResourceRequirements{Requests: r.Requests, Limits: r.Limits}}
	requested := &v1.Pod{}
	switch is := func(s v1.Container) bool { return s.Name == r.Container }; {
	case r.Container == "":
		requested.Spec.Resources = &asked.Resources
	case slices.ContainsFunc(c.pod.Spec.InitContainers, is):
		requested.Spec.InitContainers = []v1.Container{asked}
	case slices.ContainsFunc(c.pod.Spec.Containers, is):
		requested.Spec.Containers = []v1.Container{asked}
	default:
		c.unknown(path+".container", "container", r.Container, c.containers())
		return
	}
	next, err := manifest.WithResources(c.changed(), requested)
	if err != nil {
		c.report(path, "", "%v", err)
		return
	}
	c.now = next
}

// changed is the pod as the resizes before, and containers that were added, have left it.
func (c *checker) changed() *v1.Pod {
	if c.now == nil {
		c.now = c.pod
	}
	return c.now
}
