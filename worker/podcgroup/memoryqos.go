package podcgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// Files of cgroup v2 by which memory is protected and throttled.
const (
	memoryMin  = "memory.min"  // the kernel never reclaims so much
	memoryLow  = "memory.low"  // the kernel reclaims it last
	memoryHigh = "memory.high" // whoever has more is slowed down

	unlimited = "max"
)

// MemoryQoS protects what pods request of memory, and slows down who nears a limit
// (A-RES-7). It is for cgroup v2; the zero value does neither.
type MemoryQoS struct {
	On bool
	// Tiered protects requests: memory.min for Guaranteed pods, memory.low for
	// Burstable ones (memoryReservationPolicy TieredReservation).
	Tiered bool
	// ThrottlingFactor is how far between request and limit memory.high is; 0 for none.
	ThrottlingFactor float64
	// Allocatable is the node's, in bytes: the limit of containers without one.
	Allocatable int64
}

// protection is what protects a request of memory in bytes.
func (q MemoryQoS) protection(class v1.PodQOSClass, request int64) map[string]string {
	out := map[string]string{memoryMin: "0", memoryLow: "0"}
	switch {
	case !q.Tiered:
	case class == v1.PodQOSGuaranteed:
		out[memoryMin] = strconv.FormatInt(request, 10)
	default:
		out[memoryLow] = strconv.FormatInt(request, 10)
	}
	return out
}

// OfPod is what a pod's cgroup has; nil for none.
func (q MemoryQoS) OfPod(pod *v1.Pod) map[string]string {
	if !q.On {
		return nil
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	out := q.protection(lifecycle.QOSClass(pod), requests.Memory().Value())
	var limit int64
	if throttledAsAWhole(pod) {
		limits := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})
		limit = limits.Memory().Value()
	}
	out[memoryHigh] = q.high(requests.Memory().Value(), limit)
	return out
}

// throttledAsAWhole says whether a pod has resources of its own, and a limit of memory: that itself, or all of its containers.
func throttledAsAWhole(pod *v1.Pod) bool {
	if !resourcehelper.IsPodLevelResourcesSet(pod) {
		return false
	}
	limitless := func(c v1.Container) bool { return c.Resources.Limits.Memory().IsZero() }
	return limitsMemory(pod) || !slices.ContainsFunc(pod.Spec.InitContainers, limitless) && !slices.ContainsFunc(pod.Spec.Containers, limitless)
}

// limitsMemory says whether the pod itself has a limit of memory.
func limitsMemory(pod *v1.Pod) bool {
	return pod.Spec.Resources != nil && !pod.Spec.Resources.Limits.Memory().IsZero()
}

// OfContainer is what a container's cgroup has.
func (q MemoryQoS) OfContainer(pod *v1.Pod, container *v1.Container) map[string]string {
	if !q.On {
		return map[string]string{memoryHigh: unlimited}
	}
	request, limit := container.Resources.Requests.Memory().Value(), container.Resources.Limits.Memory().Value()
	out := q.protection(lifecycle.QOSClass(pod), request)
	if limit == 0 && !limitsMemory(pod) { // or else memory.high of the pod's cgroup is its as well
		limit = q.Allocatable
	}
	out[memoryHigh] = q.high(request, limit)
	return out
}

// high is memory.high between a request and a limit, in whole pages. Where there is none it is written as well: a resize takes back
// what a cgroup had.
func (q MemoryQoS) high(request, limit int64) string {
	page := int64(os.Getpagesize())
	high := int64(math.Floor((float64(request)+(float64(limit)-float64(request))*q.ThrottlingFactor)/float64(page))) * page
	if q.ThrottlingFactor == 0 || limit == 0 || request == limit || high <= request {
		return unlimited
	}
	return strconv.FormatInt(high, 10)
}

// setLevelMemory has the levels above the pods cover what is protected in them; without
// the gate they are as the start of the agent has left them.
func (d Driver) setLevelMemory() error {
	if !d.MemoryQoS.On {
		return nil
	}
	return d.Batches.protected.together(d.coverProtected)
}

// coverProtected gives the levels above the pods what is protected in them, without which
// it is not: the kernel shares out what the parent has, memory.low by the parent's
// memory.low. Without the gate that is nothing.
func (d Driver) coverProtected() error {
	if !cgroups.IsCgroup2UnifiedMode() {
		return nil
	}
	root, err := d.manager(levels(d.Parent), Resources{CPUShares: MinCPUShares})
	if err != nil {
		return err
	}
	burstable, err := d.manager(d.level(v1.PodQOSBurstable), Resources{CPUShares: MinCPUShares})
	if err != nil {
		return err
	}
	return d.MemoryQoS.cover(root, burstable)
}

// protected is what a level has to protect so that its pods are protected.
type protected struct{ low, min int }

// cover gives both levels what is protected below them.
func (q MemoryQoS) cover(root, burstable cgroups.Manager) error {
	read := func() (p protected) {
		if q.On {
			p.low = sumOfPods(burstable.Path(""), memoryLow)
			p.min = p.low + sumOfPods(root.Path(""), memoryMin)
		}
		return p
	}
	return settle(read, func(p protected) error {
		return errors.Join(protect(root, memoryMin, p.min), protect(root, memoryLow, p.low), protect(burstable, memoryLow, p.low))
	})
}

// protect sets a file of a level, unless it has the value or the level is not there. The
// driver does it: systemd would write its own value over one in the file.
func protect(level cgroups.Manager, file string, bytes int) error {
	value := strconv.Itoa(bytes)
	has, err := os.ReadFile(filepath.Join(level.Path(""), file))
	if err != nil || strings.TrimSpace(string(has)) == value {
		return nil //nolint:nilerr // the class has no pods, or the last one has just gone
	}
	err = level.Set(&cgroups.Resources{SkipDevices: true, SkipFreezeOnSet: true, Unified: map[string]string{file: value}})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set %s of cgroup %s: %w", file, level.Path(""), err)
	}
	return nil
}

const (
	guaranteedOOMScoreAdjust = -997
	bestEffortOOMScoreAdjust = 1000
	systemNodeCritical       = "system-node-critical"
)

// OOMScoreAdjust is the oom_score_adj of a container's processes (A-CRI-10).
// nodeMemory is the host's memory in bytes.
func OOMScoreAdjust(pod *v1.Pod, container *v1.Container, nodeMemory int64) int64 {
	if nodeCritical(pod) {
		return guaranteedOOMScoreAdjust
	}
	switch lifecycle.QOSClass(pod) {
	case v1.PodQOSGuaranteed:
		return guaranteedOOMScoreAdjust
	case v1.PodQOSBestEffort:
		return bestEffortOOMScoreAdjust
	}
	request := container.Resources.Requests.Memory().Value()
	if sidecar(pod, container) {
		// A sidecar must not be killed before the containers it serves: it scores
		// as if it asked for as much as the smallest of them.
		request = max(request, smallestRequest(pod))
	}
	request += unassignedRequest(pod)
	score := int64(bestEffortOOMScoreAdjust)
	if nodeMemory > 0 {
		score -= 1000 * request / nodeMemory
	}
	return min(max(score, bestEffortOOMScoreAdjust+guaranteedOOMScoreAdjust), bestEffortOOMScoreAdjust-1)
}

// nodeCritical reports a pod the node itself depends on: by its class, and
// critical as a static pod or by priority.
func nodeCritical(pod *v1.Pod) bool {
	return pod.Spec.PriorityClassName == systemNodeCritical && lifecycle.Critical(pod)
}

func sidecar(pod *v1.Pod, container *v1.Container) bool {
	return ptr.Deref(container.RestartPolicy, "") == v1.ContainerRestartPolicyAlways &&
		slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == container.Name })
}

func smallestRequest(pod *v1.Pod) int64 {
	var smallest int64
	for i := range pod.Spec.Containers {
		request := pod.Spec.Containers[i].Resources.Requests.Memory().Value()
		if i == 0 || request < smallest {
			smallest = request
		}
	}
	return smallest
}

// unassignedRequest is a container's even part of the pod-level memory request
// that no container claims.
func unassignedRequest(pod *v1.Pod) int64 {
	if !resourcehelper.IsPodLevelRequestsSet(pod) || pod.Spec.Resources.Requests.Memory().IsZero() {
		return 0
	}
	claimed := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	rest := max(0, pod.Spec.Resources.Requests.Memory().Value()-claimed.Memory().Value())
	return rest / int64(len(pod.Spec.Containers)+len(pod.Spec.InitContainers))
}
