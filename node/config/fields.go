package config

// treatment is what lifepod does about a field.
type treatment struct {
	kind treatmentKind
	// by is who honours the field, or the reason for everything else.
	by string
}

type treatmentKind int

const (
	isHonoured    treatmentKind = iota
	isHarmless                  // has nothing to act on here, whatever its value
	isPartly                    // Unsupported says for which values
	isUnsupported               // named in the warning when it isn't the default
	isRefused                   // an error when it isn't the default
)

func honoured(by string) treatment         { return treatment{isHonoured, by} }
func harmless(because string) treatment    { return treatment{isHarmless, because} }
func partly(missing string) treatment      { return treatment{isPartly, missing} }
func unsupported(missing string) treatment { return treatment{isUnsupported, missing} }
func refused(because string) treatment     { return treatment{isRefused, because} }

const (
	noEviction   = "pods are not evicted under pressure yet"
	noPolicies   = "containers get no CPUs, memory or NUMA nodes of their own"
	noClientRate = "requests to the API server are not slowed down on this side"
	noIPTables   = "lifepod makes no iptables rules of its own"
	notMoved     = "lifepod moves no process of the machine into another cgroup"
)

// fields has every field of a KubeletConfiguration by its path; a field of which
// the parts are here is not. To honour a field: say here who does. A test fails on
// a field that is missing here, and on one that is here and gone from the type.
var fields = map[string]treatment{
	// Where pods come from.
	"staticPodPath":      honoured("node/source"),
	"staticPodURL":       honoured("node/source"),
	"staticPodURLHeader": honoured("node/source"),
	"httpCheckFrequency": honoured("node/source"),
	"fileCheckFrequency": honoured("node/source"),
	"syncFrequency":      harmless("a pod is looked at when something has happened to it"),
	"configMapAndSecretChangeDetectionStrategy": harmless("changes are always watched"),

	// The node's API.
	"enableServer":                               honoured("node/server"),
	"address":                                    honoured("node/server"),
	"port":                                       honoured("node/server"),
	"readOnlyPort":                               honoured("node/server"),
	"healthzPort":                                honoured("node"),
	"healthzBindAddress":                         honoured("node"),
	"authentication.x509.clientCAFile":           honoured("node/server"),
	"authentication.webhook.enabled":             honoured("node/server"),
	"authentication.webhook.cacheTTL":            honoured("node/server"),
	"authentication.anonymous.enabled":           honoured("node/server"),
	"authorization.mode":                         honoured("node/server"),
	"authorization.webhook.cacheAuthorizedTTL":   honoured("node/server"),
	"authorization.webhook.cacheUnauthorizedTTL": honoured("node/server"),
	"enableDebuggingHandlers":                    honoured("node/server"),
	"streamingConnectionIdleTimeout":             honoured("node/server"),
	"enableSystemLogHandler":                     honoured("node/server"),
	"enableSystemLogQuery":                       unsupported("the machine's logs cannot be asked for"),
	"enableProfilingHandler":                     honoured("node/server"),
	"enableDebugFlagsHandler":                    harmless("the log's level is a flag of lifepod's, which cannot be changed while it runs"),
	"enableContentionProfiling":                  honoured("node/server"),
	"showHiddenMetricsForVersion":                unsupported("there are no hidden metrics"),

	// Certificates.
	"tlsCertFile":         honoured("node/join"),
	"tlsPrivateKeyFile":   honoured("node/join"),
	"tlsCipherSuites":     honoured("node/join"),
	"tlsCurvePreferences": honoured("node/join"),
	"tlsMinVersion":       honoured("node/join"),
	"rotateCertificates":  honoured("node/join"),
	"serverTLSBootstrap":  honoured("node/join"),

	// The Node object and what is said to the API server.
	"registerNode":              honoured("node/register"),
	"registerWithTaints":        honoured("node/register"),
	"providerID":                honoured("node/register"),
	"nodeStatusUpdateFrequency": honoured("node/register"),
	"nodeStatusReportFrequency": honoured("node/register"),
	"nodeLeaseDurationSeconds":  honoured("node/register"),
	"nodeStatusMaxImages":       honoured("node/register"),
	"eventRecordQPS":            honoured("node/record"),
	"eventBurst":                honoured("node/record"),
	"contentType":               harmless("objects are sent as protobuf, to which every API server agrees"),
	"kubeAPIQPS":                harmless(noClientRate),
	"kubeAPIBurst":              harmless(noClientRate),

	// What the node has for pods.
	"maxPods":                          honoured("node/register"),
	"podsPerCore":                      honoured("node/register"),
	"kubeReserved":                     honoured("node/register"),
	"systemReserved":                   honoured("node/register"),
	"reservedSystemCPUs":               honoured("node/register: it counts in allocatable"),
	"localStorageCapacityIsolation":    honoured("node/register"),
	"enforceNodeAllocatable":           partly("the cgroup of all pods is limited, no other"),
	"evictionHard":                     partly("counts in allocatable; " + noEviction),
	"mergeDefaultEvictionSettings":     honoured("node/config"),
	"evictionSoft":                     unsupported(noEviction),
	"evictionSoftGracePeriod":          unsupported(noEviction),
	"evictionPressureTransitionPeriod": unsupported(noEviction),
	"evictionMaxPodGracePeriod":        unsupported(noEviction),
	"evictionMinimumReclaim":           unsupported(noEviction),
	"kernelMemcgNotification":          unsupported(noEviction),
	"systemReservedCgroup":             unsupported(notMoved),
	"kubeReservedCgroup":               unsupported(notMoved),
	"systemCgroups":                    unsupported(notMoved),
	"kubeletCgroups":                   unsupported(notMoved),
	"qosReserved":                      unsupported("memory is not reserved by QoS class"),
	"volumeStatsAggPeriod":             honoured("node/stats"),

	// Cgroups and resources of containers.
	"cgroupRoot":                honoured("worker/podcgroup"),
	"cgroupDriver":              honoured("bundle"),
	"cgroupsPerQOS":             refused("pods always are in cgroups by QoS class"),
	"podPidsLimit":              honoured("worker/podcgroup"),
	"cpuCFSQuota":               honoured("worker/podcgroup"),
	"cpuCFSQuotaPeriod":         honoured("worker/podcgroup"),
	"singleProcessOOMKill":      honoured("worker/criconfig"),
	"failSwapOn":                harmless("on a machine with swap pods get none of it"),
	"memorySwap.swapBehavior":   partly("pods never swap yet"),
	"failCgroupV1":              harmless("lifepod runs pods on cgroup v1 as on v2"),
	"memoryThrottlingFactor":    unsupported("memory is not throttled"),
	"memoryReservationPolicy":   unsupported("memory is not reserved"),
	"cpuManagerPolicy":          refused(noPolicies),
	"memoryManagerPolicy":       refused(noPolicies),
	"topologyManagerPolicy":     refused(noPolicies),
	"topologyManagerScope":      harmless(noPolicies),
	"cpuManagerReconcilePeriod": harmless(noPolicies),

	"cpuManagerPolicyOptions":      unsupported(noPolicies),
	"topologyManagerPolicyOptions": unsupported(noPolicies),
	"reservedMemory":               unsupported(noPolicies),
	"userNamespaces.idsPerPod":     unsupported("a pod's user namespace has 65536 IDs"),

	// Images.
	"serializeImagePulls":                    honoured("node"),
	"maxParallelImagePulls":                  honoured("node"),
	"registryPullQPS":                        unsupported("pulls are not spread in time"),
	"registryBurst":                          unsupported("pulls are not spread in time"),
	"imagePullCredentialsVerificationPolicy": honoured("node/pullsecret"),
	"preloadedImagesVerificationAllowlist":   honoured("node/pullsecret"),
	"imageMinimumGCAge":                      honoured("node/collect"),
	"imageMaximumGCAge":                      honoured("node/collect"),
	"imageGCHighThresholdPercent":            honoured("node/collect"),
	"imageGCLowThresholdPercent":             honoured("node/collect"),

	// The runtime and containers.
	"containerRuntimeEndpoint":                   honoured("node"),
	"imageServiceEndpoint":                       unsupported("images are pulled at the endpoint of the runtime"),
	"runtimeRequestTimeout":                      unsupported("calls of the runtime have fixed deadlines"),
	"podLogsDir":                                 honoured("worker/criconfig"),
	"containerLogMaxSize":                        honoured("worker/logrotate"),
	"containerLogMaxFiles":                       honoured("worker/logrotate"),
	"containerLogMaxWorkers":                     harmless("every log is rotated when it is due"),
	"containerLogMonitorInterval":                harmless("logs are looked at when they can have grown to the limit"),
	"seccompDefault":                             honoured("worker/criconfig"),
	"allowedUnsafeSysctls":                       honoured("worker/admission"),
	"crashLoopBackOff.maxContainerRestartPeriod": honoured("lifecycle: A-BO-8"),
	"shutdownGracePeriod":                        honoured("roster: B-SHD-3"),
	"shutdownGracePeriodCriticalPods":            honoured("roster: B-SHD-3"),
	"shutdownGracePeriodByPodPriority":           honoured("roster: B-SHD-3"),

	// Network.
	"clusterDomain":          honoured("worker/netidentity"),
	"clusterDNS":             honoured("worker/netidentity"),
	"resolvConf":             honoured("worker/netidentity"),
	"podCIDR":                unsupported("the addresses of pods are the CNI plugin's"),
	"hairpinMode":            harmless("the bridge is the CNI plugin's"),
	"makeIPTablesUtilChains": harmless(noIPTables),
	"iptablesMasqueradeBit":  harmless(noIPTables),
	"iptablesDropBit":        harmless(noIPTables),

	// Volumes.
	"volumePluginDir":              unsupported("FlexVolume plugins are not run"),
	"enableControllerAttachDetach": unsupported("lifepod attaches no volumes itself"),

	// The process.
	"featureGates":          honoured("node/config"),
	"runOnce":               refused("it is gone from the kubelet, too; lifepod run runs one pod"),
	"protectKernelDefaults": unsupported("the kernel's settings are not compared with Kubernetes' own"),
	"oomScoreAdj":           unsupported("the OOM score of lifepod is that of its service"),
	"maxOpenFiles":          harmless("the limit is that of the service"),
	"logging":               unsupported("lifepod's own flags say what it logs, and how"),
	"tracing":               unsupported("lifepod sends no traces"),
}
