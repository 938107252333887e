package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestValidation(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"port":                 {"readOnlyPort: -1", "readOnlyPort: Invalid value: -1: should be from 0 to 65535"},
		"address":              {"address: here", `address: Invalid value: "here": should be an IP address`},
		"authorization":        {"authorization: {mode: RBAC}", `authorization.mode: Unsupported value: "RBAC": supported values: "AlwaysAllow", "Webhook"`},
		"URL":                  {"staticPodURL: pods.yaml", `staticPodURL: Invalid value: "pods.yaml": should be a URL such as https://host/pods.yaml`},
		"certificate only":     {"tlsCertFile: /a.crt", `tlsCertFile: Invalid value: "/a.crt": should be set together with tlsPrivateKeyFile`},
		"cipher":               {"tlsCipherSuites: [ROT13]", "tlsCipherSuites: Invalid value: [\"ROT13\"]: Cipher suite ROT13 not supported or doesn't exist"},
		"TLS version":          {"tlsMinVersion: '1.2'", `tlsMinVersion: Invalid value: "1.2": should be one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13`},
		"DNS":                  {"clusterDNS: [10.96.0.10, dns]", `clusterDNS[1]: Invalid value: "dns": should be an IP address`},
		"lease":                {"nodeLeaseDurationSeconds: -1", "nodeLeaseDurationSeconds: Invalid value: -1: should be at least 1"},
		"taint":                {"registerWithTaints: [{key: a, effect: Never}]", `registerWithTaints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`},
		"reserved resource":    {"kubeReserved: {nvidia.com/gpu: '1'}", `kubeReserved: Unsupported value: "nvidia.com/gpu": supported values: "cpu", "memory", "ephemeral-storage", "pid"`},
		"reserved amount":      {"systemReserved: {cpu: lots}", `systemReserved[cpu]: Invalid value: "lots": should be a quantity of zero or more, such as 500m or 1Gi`},
		"reserved CPUs":        {"reservedSystemCPUs: one", `reservedSystemCPUs: Invalid value: "one": should be a list of CPUs such as 0-1,4`},
		"enforcement":          {"enforceNodeAllocatable: [none, pods]", `enforceNodeAllocatable: Invalid value: ["none","pods"]: none should stand alone`},
		"enforced cgroup":      {"enforceNodeAllocatable: [system-reserved]", `enforceNodeAllocatable: Invalid value: ["system-reserved"]: system-reserved needs a cgroup`},
		"signal":               {"evictionHard: {memory.free: 1Gi}", `evictionHard: Unsupported value: "memory.free"`},
		"threshold":            {"evictionHard: {memory.available: 200%}", `evictionHard[memory.available]: Invalid value: "200%": should be a quantity such as 100Mi, or a percentage up to 100%`},
		"parallel and serial":  {"maxParallelImagePulls: 5\nserializeImagePulls: true", "maxParallelImagePulls: Invalid value: 5: should be 1 unless serializeImagePulls is false"},
		"credentials":          {"imagePullCredentialsVerificationPolicy: Sometimes", `imagePullCredentialsVerificationPolicy: Unsupported value: "Sometimes"`},
		"allowlist":            {"imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ['host:5000/*', 'a/b:1']", `preloadedImagesVerificationAllowlist[1]: Invalid value: "a/b:1": should have neither tag nor digest`},
		"image thresholds":     {"imageGCLowThresholdPercent: 85", "imageGCLowThresholdPercent: Invalid value: 85: should be less than imageGCHighThresholdPercent, which is 85"},
		"image threshold":      {"imageGCHighThresholdPercent: 101", "imageGCHighThresholdPercent: Invalid value: 101: should be from 0 to 100"},
		"image's minimum age":  {"imageMinimumGCAge: -1s", `imageMinimumGCAge: Invalid value: "-1s": should not be negative`},
		"image's maximum age":  {"imageMaximumGCAge: 1m", `imageMaximumGCAge: Invalid value: "1m0s": should be greater than imageMinimumGCAge, which is 2m0s`},
		"log files":            {"containerLogMaxFiles: 1", "containerLogMaxFiles: Invalid value: 1: should be at least 2"},
		"log interval":         {"containerLogMonitorInterval: 1s", `containerLogMonitorInterval: Invalid value: "1s": should be from 3s to`},
		"log folder":           {"podLogsDir: /var/../log", `podLogsDir: Invalid value: "/var/../log": should be a path from / without .. and //, in ASCII`},
		"CPU period":           {"cpuCFSQuotaPeriod: 2s", `cpuCFSQuotaPeriod: Invalid value: "2s": should be from 1ms to 1s`},
		"CPU period's gate":    {"cpuCFSQuotaPeriod: 50ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}", `cpuCFSQuotaPeriod: Invalid value: "50ms": requires feature gate CustomCPUCFSQuotaPeriod`},
		"cgroup driver":        {"cgroupDriver: cgroups", `cgroupDriver: Unsupported value: "cgroups": supported values: "cgroupfs", "systemd"`},
		"swap":                 {"memorySwap: {swapBehavior: UnlimitedSwap}", `memorySwap.swapBehavior: Unsupported value: "UnlimitedSwap": supported values: "", "NoSwap", "LimitedSwap"`},
		"backoff":              {"crashLoopBackOff: {maxContainerRestartPeriod: 1ms}", `crashLoopBackOff.maxContainerRestartPeriod: Invalid value: "1ms": should be from 1s to 5m0s`},
		"CPU manager":          {"cpuManagerPolicy: dynamic", `cpuManagerPolicy: Unsupported value: "dynamic": supported values: "none", "static"`},
		"CPU manager's option": {"cpuManagerPolicy: static\ncpuManagerPolicyOptions: {a: b}", `cpuManagerPolicyOptions: Invalid value: {"a":"b"}: unknown CPU Manager Policy option: "a"`},   // A-NUMA-4
		"options of none":      {"cpuManagerPolicyOptions: {full-pcpus-only: 'true'}", `cpuManagerPolicyOptions: Invalid value: {"full-pcpus-only":"true"}: the policy none has no options`}, // A-NUMA-4
		"alpha option":         {"cpuManagerPolicy: static\ncpuManagerPolicyOptions: {align-by-socket: 'true'}", `cpuManagerPolicyOptions: Invalid value: {"align-by-socket":"true"}: CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided`},
		"beta option":          {"cpuManagerPolicy: static\ncpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}\nfeatureGates: {CPUManagerPolicyBetaOptions: false}", `cpuManagerPolicyOptions: Invalid value: {"distribute-cpus-across-numa":"true"}: CPU Manager Policy Beta-level Options not enabled`},
		"memory manager":       {"memoryManagerPolicy: static", `memoryManagerPolicy: Unsupported value: "static": supported values: "None", "Static"`},
		"topology manager":     {"topologyManagerPolicy: strict", `topologyManagerPolicy: Unsupported value: "strict": supported values: "none", "best-effort", "restricted", "single-numa-node"`},
		"topology's scope":     {"topologyManagerScope: node", `topologyManagerScope: Unsupported value: "node": supported values: "container", "pod"`},
		"topology's option":    {"topologyManagerPolicyOptions: {a: b}", `topologyManagerPolicyOptions: Invalid value: {"a":"b"}: unknown Topology Manager Policy option: "a"`}, // A-NUMA-11
		"reserved memory":      {"memoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: false}", `memoryReservationPolicy: Invalid value: "TieredReservation": requires feature gate MemoryQoS`},
		"throttled memory":     {"memoryThrottlingFactor: 1.5", "memoryThrottlingFactor: Invalid value: 1.5: should be above 0, and 1 at most"},
		"throttled, gate off":  {"memoryThrottlingFactor: 0.8\nfeatureGates: {MemoryQoS: false}", "memoryThrottlingFactor: Invalid value: 0.8: requires feature gate MemoryQoS"}, // A-RES-7
		"users":                {"userNamespaces: {idsPerPod: 70000}", "userNamespaces.idsPerPod: Invalid value: 70000: should be a multiple of 65536, within 32 bits"},
		"reserved of NUMA":     {"reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]", `reservedMemory[0].limits[cpu]: Invalid value: "1": should be of memory or of hugepages-SIZE`},
		"nothing of NUMA":      {"reservedMemory: [{numaNode: 0, limits: {memory: 0}}]", `reservedMemory[0].limits[memory]: Invalid value: "0": should be more than zero`},
		"twice of NUMA":        {"reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 1Gi}}]", `reservedMemory[1].limits[memory]: Invalid value: "1Gi": is said of NUMA node 0 already`},
		"system's cgroup":      {"cgroupRoot: /\nsystemCgroups: /system", "systemCgroups: Forbidden: not supported: which processes of the machine are in which cgroup is for its init system to say"},
		"own cgroup":           {"kubeletCgroups: /", `kubeletCgroups: Invalid value: "/": should be the path of a cgroup other than the root's`},
		"OOM score":            {"oomScoreAdj: -1001", "oomScoreAdj: Invalid value: -1001: should be from -1000 to 1000"},
		"queries of the log":   {"enableSystemLogQuery: true\nenableSystemLogHandler: false", "enableSystemLogQuery: Invalid value: true: requires enableSystemLogHandler"},
		"log format":           {"logging: {format: xml}", `logging.format: Unsupported value: "xml": supported values: "text", "json"`},
		"log of a file":        {"logging: {vmodule: [{filePattern: a, verbosity: 5}]}", "logging.vmodule: Forbidden: not supported: lifepod logs by level, not by source file"},
		"split log":            {"logging: {options: {json: {splitStream: true}}}", "logging.options: Forbidden: not supported: lifepod's log is one stream, standard error: splitStream should be false"},
		"A-TRC-1 rate":         {"tracing: {samplingRatePerMillion: 1000001}", "tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million"},
		"A-TRC-1 endpoint":     {"tracing: {endpoint: 'http://localhost:4317'}", `tracing.endpoint: Invalid value: "http://localhost:4317": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`},
		"attached volumes":     {"enableControllerAttachDetach: false", "enableControllerAttachDetach: Forbidden: not supported: volumes are attached by the cluster's controller: should be true"},
		"images' endpoint":     {"imageServiceEndpoint: 127.0.0.1:1", `imageServiceEndpoint: Invalid value: "127.0.0.1:1": should be unix:///path/to/socket`},
		"time of calls":        {"runtimeRequestTimeout: 1ms", `runtimeRequestTimeout: Invalid value: "1ms": should be from 1s to`},
		"reserved by class":    {"qosReserved: {memory: 50%}", "qosReserved: Forbidden: not supported: it is alpha since Kubernetes 1.11; memoryReservationPolicy protects what pods request"},
		"no cgroups by QoS":    {"cgroupsPerQOS: false", "cgroupsPerQOS: Forbidden: not supported: pods always are in cgroups by QoS class"},
		"unknown feature gate": {"featureGates: {Sorcery: true}", "featureGates[Sorcery]: Invalid value: true: is no feature gate of Kubernetes 1.37"},
		"shutdown":             {"shutdownGracePeriod: 10ms", `shutdownGracePeriod: Invalid value: "10ms": should be 0, or at least 1s`},
		"critical's part":      {"shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s", `shutdownGracePeriodCriticalPods: Invalid value: "20s": is a part of shutdownGracePeriod, and should be 10s at most`},
		"two shutdowns":        {"shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 5}]", "shutdownGracePeriodByPodPriority: Forbidden: may not be set together with shutdownGracePeriod"},
		"shutdown's time":      {"shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: -5}]", "shutdownGracePeriodByPodPriority[0].shutdownGracePeriodSeconds: Invalid value: -5: should be at least 0"},
		"shutdown's gate":      {"shutdownGracePeriod: 10s\nfeatureGates: {GracefulNodeShutdown: false}", "shutdownGracePeriod: Forbidden: requires feature gate GracefulNodeShutdown"},
		"priorities' gate":     {"shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 5}]\nfeatureGates: {GracefulNodeShutdownBasedOnPodPriority: false}", "shutdownGracePeriodByPodPriority: Forbidden: requires feature gate GracefulNodeShutdownBasedOnPodPriority"},
		"locked feature gate":  {"featureGates: {ImageVolume: false}", "featureGates[ImageVolume]: Invalid value: false: is locked to true since it is no longer a choice"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(write(t, map[string]string{"c": header + test.content}), "c")
			_, err := Load(file, "")
			assert.Require(t, err != nil, "no error")
			want := "configuration " + file + ": " + test.want
			assert.True(t, strings.HasPrefix(err.Error(), want), "got  %s\nwant %s", err, want)
			assert.True(t, !strings.Contains(err.Error(), "\n"), "several errors: %s", err)
		})
	}
}
