package lifecycle

import v1 "k8s.io/api/core/v1"

// SameCPUAndMemory says whether two containers have the same CPU and memory, which are
// what a resize can change.
func SameCPUAndMemory(a, b v1.ResourceRequirements) bool {
	return SameResources(a, b, v1.ResourceCPU) && SameResources(a, b, v1.ResourceMemory)
}

// SameResources says whether two containers have the same limit and request of a resource.
func SameResources(a, b v1.ResourceRequirements, name v1.ResourceName) bool {
	return CompareResources(a.Limits, b.Limits, name) == 0 && CompareResources(a.Requests, b.Requests, name) == 0
}

// CompareResources is -1, 0 or 1 if a has less, as much, or more than b. A missing resource counts
// as zero.
func CompareResources(a, b v1.ResourceList, name v1.ResourceName) int {
	q := a[name]
	return q.Cmp(b[name])
}

// ResourcesGrow says whether a change increases a resource: its limit if that changes, else its
// request.
func ResourcesGrow(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	if LimitGrows(was, is, name) || LimitShrinks(was, is, name) {
		return LimitGrows(was, is, name)
	}
	return CompareResources(is.Requests, was.Requests, name) > 0
}

// LimitShrinks says whether the limit decreases; no limit is the greatest.
func LimitShrinks(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	return LimitGrows(is, was, name)
}

// LimitGrows says whether the limit increases; no limit is the greatest.
func LimitGrows(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	from, to := was.Limits[name], is.Limits[name]
	return !from.IsZero() && (to.IsZero() || to.Cmp(from) > 0)
}

// WithResources returns base with one resource taken from another container.
func WithResources(base, from v1.ResourceRequirements, name v1.ResourceName) v1.ResourceRequirements {
	return v1.ResourceRequirements{
		Limits:   withQuantity(base.Limits, from.Limits, name),
		Requests: withQuantity(base.Requests, from.Requests, name),
		Claims:   from.Claims,
	}
}

func withQuantity(base, from v1.ResourceList, name v1.ResourceName) v1.ResourceList {
	out := base.DeepCopy()
	delete(out, name)
	q, found := from[name]
	if !found {
		return out
	}
	if out == nil {
		out = v1.ResourceList{}
	}
	out[name] = q.DeepCopy()
	return out
}

// WithLimitsOf returns the container's resources with the pod's limits of CPU and memory
// where it declares none (A-CRI-8). The pod may have none.
func WithLimitsOf(c v1.ResourceRequirements, pod *v1.ResourceRequirements) v1.ResourceRequirements {
	c = *c.DeepCopy()
	if pod == nil {
		return c
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		own, limit := c.Limits[name], pod.Limits[name]
		if own.IsZero() && !limit.IsZero() {
			c.Limits = withQuantity(c.Limits, pod.Limits, name)
		}
	}
	return c
}
