package node

import (
	"fmt"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/logrotate"
	"github.com/lifepod/lifepod/worker/netidentity"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// newEngine is this machine for the pods of the node, as its configuration wants it.
func newEngine(o Options, c *config.Config, runtime *host.Runtime, features cri.Features) (*worker.Node, error) {
	k := c.Kubelet
	engine, err := host.NewNode(host.NodeConfig{
		Runtime: runtime.Client, RuntimeName: runtime.Name, Content: runtime.Content(),
		Root: o.rootDir(), CgroupParent: cgroupParent(runtime, k.CgroupRoot), Systemd: runtime.Systemd, IPAMDir: runtime.IPAMDir,
		Features: features, UnsafeSysctls: k.AllowedUnsafeSysctls, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	engine.Config.CPULimits = podcgroup.CPULimits{Off: !*k.CPUCFSQuota, Period: k.CPUCFSQuotaPeriod.Duration}
	engine.Cgroups = podcgroup.Driver{
		Parent: cgroupParent(runtime, k.CgroupRoot), Systemd: runtime.Systemd, PidsLimit: max(0, *k.PodPidsLimit), CPULimits: engine.Config.CPULimits,
	}
	engine.Options.KeepRecords = true
	engine.Options.CrashBackOff.Max = k.CrashLoopBackOff.MaxContainerRestartPeriod.Duration
	engine.Options.CrashBackOff.Initial = min(engine.Options.CrashBackOff.Initial, engine.Options.CrashBackOff.Max)
	engine.Config.SeccompDefault = *k.SeccompDefault
	if k.SingleProcessOOMKill != nil {
		engine.Config.SingleProcessOOMKill = *k.SingleProcessOOMKill
	}
	if o.inCluster() || c.Set("podLogsDir") {
		engine.Config.LogRoot = k.PodLogsDir
	}
	if err := os.MkdirAll(engine.Config.LogRoot, 0o755); err != nil {
		return nil, fmt.Errorf("log folder: %w", err)
	}
	if err := os.MkdirAll(engine.PodsDir, 0o750); err != nil {
		return nil, fmt.Errorf("folder of pods: %w", err)
	}
	if engine.Resolver, err = netidentity.ResolverOf(*k.ResolverConfig); err != nil {
		return nil, err
	}
	engine.Cluster = netidentity.Cluster{DNS: k.ClusterDNS, Domain: k.ClusterDomain, Absent: !o.inCluster()}
	policy, err := logPolicy(c)
	if err != nil {
		return nil, err
	}
	engine.Logs = engine.NewLogs(policy)
	return engine, nil
}

// enforce limits what all pods may use together, if that is wanted.
func (m *member) enforce() {
	if !slices.Contains(m.config.Kubelet.EnforceNodeAllocatable, "pods") {
		return
	}
	if err := m.engine.Cgroups.(podcgroup.Driver).Enforce(m.node.PodsLimit()); err != nil {
		m.Log.Warn("the resources of all pods together are not limited", "err", err)
		return
	}
	if m.cluster != nil {
		m.cluster.nodeEvent(v1.EventTypeNormal, "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
	}
}

// cgroupParent is the cgroup of all pods: the kubelet's, so that its pods are where
// they were, or that of the bundled runtime, which is removed with the last pod.
func cgroupParent(runtime *host.Runtime, root string) string {
	if runtime.Bundled() {
		return runtime.CgroupParent
	}
	return strings.Trim(root+"/kubepods", "/")
}

// maxParallelPulls is how many images are pulled at a time; 0 is no limit. Kubernetes
// pulls one after the other unless it is told otherwise; lifepod, which is told to
// be fast, does so only if the file says it.
func maxParallelPulls(c *config.Config) int {
	switch {
	case c.Set("serializeImagePulls") && *c.Kubelet.SerializeImagePulls:
		return 1
	case c.Kubelet.MaxParallelImagePulls != nil:
		return int(*c.Kubelet.MaxParallelImagePulls)
	}
	return 0
}

func logPolicy(c *config.Config) (logrotate.Policy, error) {
	size, err := resource.ParseQuantity(c.Kubelet.ContainerLogMaxSize)
	if err != nil {
		return logrotate.Policy{}, fmt.Errorf("containerLogMaxSize %q: %w", c.Kubelet.ContainerLogMaxSize, err)
	}
	return logrotate.Policy{MaxBytes: size.Value(), MaxFiles: int(*c.Kubelet.ContainerLogMaxFiles)}, nil
}
