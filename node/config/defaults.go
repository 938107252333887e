package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// Defaults of the kubelet that lifepod's own parts need, too.
const (
	defaultPodLogsDir      = "/var/log/pods"
	defaultResolvConf      = "/etc/resolv.conf"
	defaultVolumePluginDir = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"
	defaultRuntimeEndpoint = "unix:///run/containerd/containerd.sock"
	// maxRestartPeriod is the longest backoff of a restart (A-BO-8).
	maxRestartPeriod = 300 * time.Second
)

// setDefaults gives fields that are not set the defaults of the kubelet 1.37 with
// the feature gates that lifepod behaves as.
func setDefaults(c *kubeletconfig.KubeletConfiguration) {
	setSourceDefaults(c)
	setServerDefaults(c)
	setNodeDefaults(c)
	setImageDefaults(c)
	setResourceDefaults(c)
	setContainerDefaults(c)
	setOtherDefaults(c)
}

func setSourceDefaults(c *kubeletconfig.KubeletConfiguration) {
	duration(&c.SyncFrequency, time.Minute)
	duration(&c.FileCheckFrequency, 20*time.Second)
	duration(&c.HTTPCheckFrequency, 20*time.Second)
	pointer(&c.EnableControllerAttachDetach, true)
	value(&c.ConfigMapAndSecretChangeDetectionStrategy, kubeletconfig.WatchChangeDetectionStrategy)
	value(&c.VolumePluginDir, defaultVolumePluginDir)
}

func setServerDefaults(c *kubeletconfig.KubeletConfiguration) {
	pointer(&c.EnableServer, true)
	value(&c.Address, "0.0.0.0")
	value(&c.Port, 10250)
	pointer(&c.Authentication.Anonymous.Enabled, false)
	pointer(&c.Authentication.Webhook.Enabled, true)
	duration(&c.Authentication.Webhook.CacheTTL, 2*time.Minute)
	value(&c.Authorization.Mode, kubeletconfig.KubeletAuthorizationModeWebhook)
	duration(&c.Authorization.Webhook.CacheAuthorizedTTL, 5*time.Minute)
	duration(&c.Authorization.Webhook.CacheUnauthorizedTTL, 30*time.Second)
	pointer(&c.EnableDebuggingHandlers, true)
	pointer(&c.EnableSystemLogHandler, true)
	pointer(&c.EnableProfilingHandler, true)
	pointer(&c.EnableDebugFlagsHandler, true)
	pointer(&c.HealthzPort, 10248)
	value(&c.HealthzBindAddress, "127.0.0.1")
	duration(&c.StreamingConnectionIdleTimeout, 4*time.Hour)
}

func setNodeDefaults(c *kubeletconfig.KubeletConfiguration) {
	pointer(&c.RegisterNode, true)
	// A frequency of updates that is set is that of reports as well.
	if c.NodeStatusUpdateFrequency.Duration != 0 {
		duration(&c.NodeStatusReportFrequency, c.NodeStatusUpdateFrequency.Duration)
	}
	duration(&c.NodeStatusReportFrequency, 5*time.Minute)
	duration(&c.NodeStatusUpdateFrequency, 10*time.Second)
	value(&c.NodeLeaseDurationSeconds, 40)
	pointer(&c.NodeStatusMaxImages, 50)
	pointer(&c.EventRecordQPS, 50)
	value(&c.EventBurst, 100)
	value(&c.ContentType, "application/vnd.kubernetes.protobuf")
	pointer(&c.KubeAPIQPS, 50)
	value(&c.KubeAPIBurst, 100)
	value(&c.MaxPods, 110)
}

func setImageDefaults(c *kubeletconfig.KubeletConfiguration) {
	pointer(&c.RegistryPullQPS, 5)
	value(&c.RegistryBurst, 10)
	duration(&c.ImageMinimumGCAge, 2*time.Minute)
	pointer(&c.ImageGCHighThresholdPercent, 85)
	pointer(&c.ImageGCLowThresholdPercent, 80)
	// Whoever sets how many pulls go on at once need not say that several do.
	pointer(&c.SerializeImagePulls, c.MaxParallelImagePulls == nil || *c.MaxParallelImagePulls < 2)
	value(&c.ImagePullCredentialsVerificationPolicy, kubeletconfig.NeverVerifyPreloadedImages)
}

func setResourceDefaults(c *kubeletconfig.KubeletConfiguration) {
	pointer(&c.CgroupsPerQOS, true)
	value(&c.CgroupDriver, "cgroupfs")
	value(&c.CPUManagerPolicy, "none")
	duration(&c.CPUManagerReconcilePeriod, 10*time.Second)
	value(&c.MemoryManagerPolicy, kubeletconfig.NoneMemoryManagerPolicy)
	value(&c.TopologyManagerPolicy, kubeletconfig.NoneTopologyManagerPolicy)
	value(&c.TopologyManagerScope, kubeletconfig.ContainerTopologyManagerScope)
	if c.EnforceNodeAllocatable == nil {
		c.EnforceNodeAllocatable = []string{EnforcePods}
	}
	duration(&c.EvictionPressureTransitionPeriod, 5*time.Minute)
	pointer(&c.MergeDefaultEvictionSettings, false)
	pointer(&c.FailSwapOn, true)
	pointer(&c.FailCgroupV1, true)
	pointer(&c.LocalStorageCapacityIsolation, true)
	duration(&c.VolumeStatsAggPeriod, time.Minute)
	value(&c.MemoryReservationPolicy, kubeletconfig.NoneMemoryReservationPolicy)
}

func setContainerDefaults(c *kubeletconfig.KubeletConfiguration) {
	value(&c.ContainerRuntimeEndpoint, defaultRuntimeEndpoint)
	duration(&c.RuntimeRequestTimeout, 2*time.Minute)
	pointer(&c.ResolverConfig, defaultResolvConf)
	pointer(&c.CPUCFSQuota, true)
	pointer(&c.CPUCFSQuotaPeriod, metav1.Duration{Duration: 100 * time.Millisecond})
	pointer(&c.SeccompDefault, false)
	value(&c.PodLogsDir, defaultPodLogsDir)
	value(&c.ContainerLogMaxSize, "10Mi")
	pointer(&c.ContainerLogMaxFiles, 5)
	pointer(&c.ContainerLogMaxWorkers, 1)
	pointer(&c.ContainerLogMonitorInterval, metav1.Duration{Duration: 10 * time.Second})
	pointer(&c.CrashLoopBackOff.MaxContainerRestartPeriod, metav1.Duration{Duration: maxRestartPeriod})
	// Less than none means what a pod may have of the node's.
	if c.PodPidsLimit == nil || *c.PodPidsLimit < 0 {
		c.PodPidsLimit = new(int64(-1))
	}
}

func setOtherDefaults(c *kubeletconfig.KubeletConfiguration) {
	pointer(&c.OOMScoreAdj, -999)
	value(&c.HairpinMode, kubeletconfig.PromiscuousBridge)
	value(&c.MaxOpenFiles, 1000000)
	pointer(&c.MakeIPTablesUtilChains, true)
	pointer(&c.IPTablesMasqueradeBit, 14)
	pointer(&c.IPTablesDropBit, 15)
	logsapi.SetRecommendedLoggingConfiguration(&c.Logging)
}

// setEvictionDefaults gives the thresholds of eviction their defaults, which the
// kubelet sets for the first file only.
func setEvictionDefaults(c *kubeletconfig.KubeletConfiguration) {
	defaults := map[string]string{
		"memory.available":   "100Mi",
		"nodefs.available":   "10%",
		"nodefs.inodesFree":  "5%",
		"imagefs.available":  "15%",
		"imagefs.inodesFree": "5%",
	}
	if c.EvictionHard == nil {
		c.EvictionHard = defaults
		return
	}
	if !*c.MergeDefaultEvictionSettings {
		return
	}
	for signal, threshold := range defaults {
		if _, set := c.EvictionHard[signal]; !set {
			c.EvictionHard[signal] = threshold
		}
	}
}

func value[T comparable](field *T, standard T) {
	var zero T
	if *field == zero {
		*field = standard
	}
}

func pointer[T any](field **T, standard T) {
	if *field == nil {
		*field = &standard
	}
}

func duration(field *metav1.Duration, standard time.Duration) {
	value(field, metav1.Duration{Duration: standard})
}
