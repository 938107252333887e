package node

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/pressure"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podcgroup"
	"github.com/lifepod/lifepod/worker/podlog"
)

// machine is what pods find on this machine, as the node's configuration wants it.
type machine struct {
	admits  admit.Host
	cgroups podcgroup.Driver
	config  criconfig.Node
	dns     worker.DNS
	folders worker.Folders
	logs    podlog.RotationPolicy
	foreign func(types.UID) bool // pods of the same runtime that are another lifepod's

	pressure pressure.Config // how the node answers when it runs short of something
}

func (s *setup) newMachine() (m machine, err error) {
	k, root := s.config.Kubelet, s.options.rootDir()
	m.foreign = s.options.Foreign
	if m.pressure, err = s.pressure(); err != nil {
		return m, err
	}
	if m.admits, err = host.Admits(k.AllowedUnsafeSysctls, s.features); err != nil {
		return m, err
	}
	m.admits.Claims = s.options.inCluster()
	if m.config, err = s.podConfig(); err != nil {
		return m, err
	}
	m.cgroups = podcgroup.Driver{
		Parent: cgroupParent(s.runtime, k.CgroupRoot), Systemd: s.runtime.Systemd,
		PidsLimit: max(0, *k.PodPidsLimit), CPULimits: m.config.CPULimits, MemoryQoS: m.config.MemoryQoS,
		Batches: podcgroup.NewBatches(), Moves: new(podcgroup.Moves),
	}
	m.dns.Cluster = criconfig.ClusterDNS{DNS: k.ClusterDNS, Domain: k.ClusterDomain, Absent: !s.options.inCluster()}
	m.dns.Resolver = func() (criconfig.Resolver, error) { return criconfig.ResolverOf(*k.ResolverConfig) }
	if _, err = m.dns.Resolver(); err != nil {
		return m, err
	}
	size, err := resource.ParseQuantity(k.ContainerLogMaxSize)
	if err != nil {
		return m, fmt.Errorf("containerLogMaxSize %q: %w", k.ContainerLogMaxSize, err)
	}
	m.logs = podlog.RotationPolicy{MaxBytes: size.Value(), MaxFiles: int(*k.ContainerLogMaxFiles)}
	m.folders = worker.Folders{
		Pods: host.PodsDir(root), Claims: rootfolder.Claims.In(root), IPAM: s.runtime.IPAMDir,
		Journal: host.Journal(root),
	}
	if err := rootfolder.Ensure(m.config.LogRoot, 0o750); err != nil {
		return m, fmt.Errorf("log folder: %w", err)
	}
	if err := os.MkdirAll(m.folders.Pods, 0o750); err != nil {
		return m, fmt.Errorf("folder of pods: %w", err)
	}
	return m, nil
}

// podConfig is the machine's part of the configs of pods.
func (s *setup) podConfig() (criconfig.Node, error) {
	k := s.config.Kubelet
	c, err := host.PodConfig(s.options.rootDir())
	c.LogRoot, c.Seccomp.Default = s.logRoot(), *k.SeccompDefault
	c.CPULimits = podcgroup.CPULimits{Off: !*k.CPUCFSQuota, Period: k.CPUCFSQuotaPeriod.Duration}
	if k.SingleProcessOOMKill != nil {
		c.SingleProcessOOMKill = *k.SingleProcessOOMKill
	}
	if err != nil {
		return c, err
	}
	c.LimitedSwap = k.MemorySwap.SwapBehavior == config.LimitedSwap
	c.MemoryQoS = podcgroup.MemoryQoS{
		On:               config.Enabled(k, config.MemoryQoS) && c.CgroupV2,
		Tiered:           k.MemoryReservationPolicy == kubeletconfig.TieredReservationMemoryReservationPolicy,
		ThrottlingFactor: ptr.Deref(k.MemoryThrottlingFactor, 0),
	}
	if !c.CgroupV2 && (c.LimitedSwap || k.FeatureGates[config.MemoryQoS]) { // by default it is on everywhere
		s.log.Warn("memorySwap and the feature gate MemoryQoS need cgroup v2: pods get no swap, their memory is neither protected nor throttled")
	}
	c.Users, err = criconfig.ConfiguredUserNamespaces("/etc", s.idsPerPod(), k.MaxPods)
	return c, err
}

// idsPerPod is the length of pods' user namespaces.
func (s *setup) idsPerPod() uint32 {
	if users := s.config.Kubelet.UserNamespaces; users != nil && users.IDsPerPod != nil {
		return uint32(*users.IDsPerPod)
	}
	return criconfig.UserNamespaceLength
}

// logRoot is where the pods have their logs.
func (s *setup) logRoot() string {
	if s.options.inCluster() || s.config.Set("podLogsDir") {
		return s.config.Kubelet.PodLogsDir
	}
	return host.LogRoot(s.options.rootDir())
}

// podOptions are those of every pod's life.
func (s *setup) podOptions(addresses []v1.NodeAddress) lifecycle.Options {
	options := lifecycle.DefaultOptions()
	options.RuntimeName, options.KeepRecords = cmp.Or(s.runtime.Name, options.RuntimeName), true
	options.CrashBackOff.Max = s.config.Kubelet.CrashLoopBackOff.MaxContainerRestartPeriod.Duration
	options.CrashBackOff.Initial = min(options.CrashBackOff.Initial, options.CrashBackOff.Max)
	for _, a := range addresses {
		if a.Type == v1.NodeInternalIP {
			options.HostIPs = append(options.HostIPs, a.Address)
		}
	}
	return options
}

// timeouts are those of the runtime's calls: a sandbox takes twice as long, as in the kubelet.
func timeouts(c *config.Config) worker.Timeouts {
	t := worker.DefaultTimeouts()
	t.Call = c.Kubelet.RuntimeRequestTimeout.Duration
	t.Sandbox = 2 * t.Call
	return t
}

// cgroupParent is the cgroup of all pods: the kubelet's, so that its pods are where
// they were, or that of the bundled runtime, which is removed with the last pod.
func cgroupParent(runtime *host.Runtime, root string) string {
	if runtime.Bundled() {
		return runtime.CgroupParent
	}
	return strings.Trim(root+"/kubepods", "/")
}

// local is what there is of pods on this machine besides their workers.
func (s *setup) local(c *cluster) (pods.Local, error) {
	paths, err := bundle.Locate(s.runtime.Root, "")
	if err != nil {
		return pods.Local{}, err
	}
	local := pods.Local{Sockets: control.Folder(paths.RunDir), Foreign: s.options.Foreign}
	if c != nil {
		local.LogLinks = &pods.LogLinksFolder{Dir: filepath.Join(filepath.Dir(s.logRoot()), "containers")}
		local.StaticOf = c.mirrors.StaticOf
	}
	return local, nil
}
