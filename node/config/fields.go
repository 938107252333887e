package config

import (
	"reflect"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// treatment is what lifepod does about a field.
type treatment struct {
	kind treatmentKind
	// by is who honours the field, or the reason for everything else.
	by string
}

type treatmentKind int

const (
	isHonoured treatmentKind = iota
	isHarmless               // has nothing to act on here, whatever its value
	isRefused                // an error when it isn't the default
)

func honoured(by string) treatment      { return treatment{isHonoured, by} }
func harmless(because string) treatment { return treatment{isHarmless, because} }
func refused(because string) treatment  { return treatment{isRefused, because} }

const (
	noClientRate = "requests to the API server are not slowed down on this side"
	noMarks      = "lifepod marks no packets"
	notMoved     = "which processes of the machine are in which cgroup is for its init system to say"
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
	"enableSystemLogQuery":                       honoured("node/server"),
	"enableProfilingHandler":                     honoured("node/server"),
	"enableDebugFlagsHandler":                    harmless("the log's level is a flag of lifepod's, which cannot be changed while it runs"),
	"enableContentionProfiling":                  honoured("node/server"),
	"showHiddenMetricsForVersion":                harmless("none of lifepod's metrics is hidden"),

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
	"eventRecordQPS":            honoured("node/publish"),
	"eventBurst":                honoured("node/publish"),
	"contentType":               harmless("objects are sent as protobuf, to which every API server agrees"),
	"kubeAPIQPS":                harmless(noClientRate),
	"kubeAPIBurst":              harmless(noClientRate),

	// What the node has for pods.
	"maxPods":                          honoured("node/register"),
	"podsPerCore":                      honoured("node/register"),
	"kubeReserved":                     honoured("node/register"),
	"systemReserved":                   honoured("node/register"),
	"reservedSystemCPUs":               honoured("node/register, node/devices"),
	"localStorageCapacityIsolation":    honoured("node/register"),
	"enforceNodeAllocatable":           honoured("worker/podcgroup"),
	"evictionHard":                     honoured("roster/pressure"),
	"mergeDefaultEvictionSettings":     honoured("node/config"),
	"evictionSoft":                     honoured("roster/pressure"),
	"evictionSoftGracePeriod":          honoured("roster/pressure"),
	"evictionPressureTransitionPeriod": honoured("node"),
	"evictionMaxPodGracePeriod":        honoured("node"),
	"evictionMinimumReclaim":           honoured("roster/pressure"),
	"kernelMemcgNotification":          harmless("the kernel always tells when memory gets short"),
	"systemReservedCgroup":             honoured("worker/podcgroup"),
	"kubeReservedCgroup":               honoured("worker/podcgroup"),
	"systemCgroups":                    refused(notMoved),
	"kubeletCgroups":                   honoured("node"),
	"qosReserved":                      refused("it is alpha since Kubernetes 1.11; memoryReservationPolicy protects what pods request"),
	"volumeStatsAggPeriod":             honoured("node/stats"),

	// Cgroups and resources of containers.
	"cgroupRoot":                honoured("worker/podcgroup"),
	"cgroupDriver":              honoured("bundle"),
	"cgroupsPerQOS":             refused("pods always are in cgroups by QoS class"),
	"podPidsLimit":              honoured("worker/podcgroup"),
	"cpuCFSQuota":               honoured("worker/podcgroup"),
	"cpuCFSQuotaPeriod":         honoured("worker/podcgroup"),
	"singleProcessOOMKill":      honoured("worker/criconfig"),
	"failSwapOn":                honoured("node: if a file sets it"),
	"memorySwap.swapBehavior":   honoured("worker/criconfig"),
	"failCgroupV1":              honoured("node: if a file sets it"),
	"memoryThrottlingFactor":    honoured("worker/podcgroup: with the gate MemoryQoS"),
	"memoryReservationPolicy":   honoured("worker/podcgroup: with the gate MemoryQoS"),
	"userNamespaces.idsPerPod":  honoured("worker/criconfig"),
	"cpuManagerPolicy":          honoured("node/devices"),
	"memoryManagerPolicy":       honoured("node/devices"),
	"topologyManagerPolicy":     honoured("node/devices"),
	"topologyManagerScope":      honoured("node/devices"),
	"cpuManagerReconcilePeriod": harmless("containers are moved to other CPUs as soon as those that they share change"),

	"cpuManagerPolicyOptions":      honoured("node/devices"),
	"topologyManagerPolicyOptions": honoured("node/devices"),
	"reservedMemory":               honoured("node/devices"),

	// Images.
	"serializeImagePulls":                    honoured("node"),
	"maxParallelImagePulls":                  honoured("node"),
	"registryPullQPS":                        honoured("worker/images: if a file sets it"),
	"registryBurst":                          honoured("worker/images: if a file sets registryPullQPS"),
	"imagePullCredentialsVerificationPolicy": honoured("node/objects"),
	"preloadedImagesVerificationAllowlist":   honoured("node/objects"),
	"imageMinimumGCAge":                      honoured("node/space"),
	"imageMaximumGCAge":                      honoured("node/space"),
	"imageGCHighThresholdPercent":            honoured("node/space"),
	"imageGCLowThresholdPercent":             honoured("node/space"),

	// The runtime and containers.
	"containerRuntimeEndpoint":                   honoured("node"),
	"imageServiceEndpoint":                       honoured("node"),
	"runtimeRequestTimeout":                      honoured("worker"),
	"podLogsDir":                                 honoured("worker/criconfig"),
	"containerLogMaxSize":                        honoured("worker/podlog"),
	"containerLogMaxFiles":                       honoured("worker/podlog"),
	"containerLogMaxWorkers":                     harmless("every log is rotated when it is due"),
	"containerLogMonitorInterval":                harmless("logs are looked at when they can have grown to the limit"),
	"seccompDefault":                             honoured("worker/criconfig"),
	"allowedUnsafeSysctls":                       honoured("roster/admit"),
	"defaultPodSysctls":                          refused("the feature gate DefaultPodSysctls is off"),
	"crashLoopBackOff.maxContainerRestartPeriod": honoured("lifecycle: A-BO-8"),
	"shutdownGracePeriod":                        honoured("roster: B-SHD-3"),
	"shutdownGracePeriodCriticalPods":            honoured("roster: B-SHD-3"),
	"shutdownGracePeriodByPodPriority":           honoured("roster: B-SHD-3"),

	// Network.
	"clusterDomain":          honoured("worker/criconfig"),
	"clusterDNS":             honoured("worker/criconfig"),
	"resolvConf":             honoured("worker/criconfig"),
	"podCIDR":                honoured("node: without a cluster"),
	"hairpinMode":            harmless("the bridge is the CNI plugin's"),
	"makeIPTablesUtilChains": honoured("node"),
	"iptablesMasqueradeBit":  harmless(noMarks),
	"iptablesDropBit":        harmless(noMarks),

	// Volumes.
	"volumePluginDir":              harmless("FlexVolumes are deprecated since Kubernetes 1.23; pods with one are refused"),
	"enableControllerAttachDetach": refused("volumes are attached by the cluster's controller: should be true"),

	// The process.
	"featureGates":          honoured("node/config"),
	"runOnce":               refused("it is gone from the kubelet, too; lifepod run runs one pod"),
	"protectKernelDefaults": honoured("node"),
	"oomScoreAdj":           honoured("node: if a file sets it"),
	"maxOpenFiles":          harmless("the limit is that of the service"),
	"logging":               honoured("node"),
	"tracing":               honoured("telemetry"),
}

// Warning is one sentence about everything that is set and has no effect, for the log at
// the start; "" if there is nothing: feature gates that are set against what lifepod does.
func (c *Config) Warning() string {
	gates := gatesNotFollowed(c.Kubelet.FeatureGates)
	if len(gates) == 0 {
		return ""
	}
	return "not supported, without effect: " + strings.Join(gates, "; ")
}

// LogsByDefault says whether the configuration leaves the log as it is.
func (c *Config) LogsByDefault() bool {
	return apiequality.Semantic.DeepEqual(c.Kubelet.Logging, defaults().Logging)
}

// refusals are errors for fields of which lifepod has the default only.
func (c *Config) refusals() field.ErrorList {
	var errs field.ErrorList
	for _, path := range c.changed(isRefused) {
		errs = append(errs, field.Forbidden(field.NewPath(path), "not supported: "+fields[path].by))
	}
	return errs
}

// changed are the fields of a kind that don't have their default, sorted.
func (c *Config) changed(kind treatmentKind) []string {
	// The defaults are taken as they are, since Default itself asks for refusals.
	standard := leaves(reflect.ValueOf(defaults()).Elem())
	is := leaves(reflect.ValueOf(c.Kubelet).Elem())
	var out []string
	for path, t := range fields {
		if t.kind == kind && !apiequality.Semantic.DeepEqual(is[path], standard[path]) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
