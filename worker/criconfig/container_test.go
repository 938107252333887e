package criconfig

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

func TestContainer(t *testing.T) {
	pod := testPod()
	container := &v1.Container{
		Name: "main", Image: "app:1", WorkingDir: "/w", TTY: true, Stdin: true, StdinOnce: true,
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
		Resources: v1.ResourceRequirements{Requests: resources("250m", "1Gi"), Limits: resources("1", "2Gi")},
		SecurityContext: &v1.SecurityContext{
			Capabilities:             &v1.Capabilities{Add: []v1.Capability{"NET_ADMIN"}, Drop: []v1.Capability{"ALL"}},
			ReadOnlyRootFilesystem:   new(true),
			AllowPrivilegeEscalation: new(false),
		},
	}
	pod.Spec.Containers = []v1.Container{*container}
	volume := &runtimeapi.Mount{HostPath: "/pods/v", ContainerPath: "/v"}
	got := assert.Get(Container(ContainerInput{
		Node: Node{Seccomp: Seccomp{Default: true}, MemoryBytes: 16 << 30, HugePageSizes: []string{"2MB"}, MaskedPaths: []string{"/sys/devices/system/cpu/cpu0/thermal_throttle"}},
		Pod:  pod, Container: container, RestartCount: 2, ImageRef: "sha256:abc", ImageUser: ImageUser{UID: ptr.To[int64](65532)},
		Environment: Environment{Env: []KeyValue{{Name: "A", Value: "1"}}, Command: []string{"run"}, Args: []string{"fast"}},
		Mounts:      []*runtimeapi.Mount{volume}, HostsFile: "/pods/etc-hosts", TerminationLog: "/pods/containers/main/12345678",
	})).Must(t)
	want := &runtimeapi.ContainerConfig{
		Metadata:   &runtimeapi.ContainerMetadata{Name: "main", Attempt: 2},
		Image:      &runtimeapi.ImageSpec{Image: "sha256:abc", UserSpecifiedImage: "app:1"}, // A-IMG-9
		Command:    []string{"run"},
		Args:       []string{"fast"},
		WorkingDir: "/w",
		Envs:       []*runtimeapi.KeyValue{{Key: "A", Value: []byte("1")}},
		Mounts: []*runtimeapi.Mount{
			volume, {HostPath: "/pods/etc-hosts", ContainerPath: "/etc/hosts"}, {HostPath: "/pods/containers/main/12345678", ContainerPath: "/dev/termination-log"},
		},
		Labels: map[string]string{ // A-CRI-2, as the annotations
			"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "ns", "io.kubernetes.pod.uid": "uid-1", "io.kubernetes.container.name": "main",
		},
		Annotations: map[string]string{
			"io.kubernetes.container.hash": got.Annotations["io.kubernetes.container.hash"], "io.kubernetes.container.restartCount": "2",
			"io.kubernetes.container.terminationMessagePath": "/dev/termination-log", "io.kubernetes.container.terminationMessagePolicy": "File",
			"io.kubernetes.pod.terminationGracePeriod": "30",
		},
		LogPath: "main/2.log",                     // A-CRI-1
		Stdin:   true, StdinOnce: true, Tty: true, // A-CRI-12
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources: &runtimeapi.LinuxContainerResources{
				// A-CRI-7, A-CRI-8, A-CRI-10
				CpuPeriod: 100_000, CpuShares: 256, CpuQuota: 100_000, MemoryLimitInBytes: 2 << 30, OomScoreAdj: 938,
				HugepageLimits: []*runtimeapi.HugepageLimit{{PageSize: "2MB"}},
			},
			SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
				Capabilities:     &runtimeapi.Capability{AddCapabilities: []string{"NET_ADMIN"}, DropCapabilities: []string{"ALL"}},
				NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER, UsernsOptions: &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE}},
				RunAsUser:        &runtimeapi.Int64Value{Value: 65532},
				ReadonlyRootfs:   true,
				NoNewPrivs:       true,                                                                                        // A-SEC-3
				MaskedPaths:      append(append([]string{}, maskedPaths...), "/sys/devices/system/cpu/cpu0/thermal_throttle"), // A-SEC-5
				ReadonlyPaths:    readonlyPaths,
				Seccomp:          runtimeDefault(),
			},
		},
	}
	assert.Deep(t, "a container's config", want, got, protocmp.Transform())
}

func TestContainerInAUserNamespace(t *testing.T) {
	ids := []*runtimeapi.IDMapping{{HostId: 65536, Length: 65536}}
	userNamespace := &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: ids, Gids: ids}
	got := assert.Get(Container(ContainerInput{
		Pod: testPod(), Container: &v1.Container{Name: "main"}, UserNamespace: userNamespace,
		Mounts: []*runtimeapi.Mount{{HostPath: "/v"}}, HostsFile: "/h", TerminationLog: "/unused",
	})).Must(t)
	want := []*runtimeapi.Mount{{HostPath: "/v", UidMappings: ids, GidMappings: ids}, {HostPath: "/h", ContainerPath: "/etc/hosts", UidMappings: ids, GidMappings: ids}}
	assert.Deep(t, "A-VOL-2 id mappings; no termination path, no mount", want, got.Mounts, protocmp.Transform())
	assert.Deep(t, "A-SEC-6", userNamespace, got.Linux.SecurityContext.NamespaceOptions.UsernsOptions, protocmp.Transform())
}

// TestContainerWithSELinux: the runtime labels the files that are the container's own (A-VOL-2).
func TestContainerWithSELinux(t *testing.T) {
	got := assert.Get(Container(ContainerInput{
		Node: Node{SELinux: true}, Pod: testPod(), Container: &v1.Container{Name: "main", TerminationMessagePath: "/dev/termination-log"},
		Mounts: []*runtimeapi.Mount{{HostPath: "/v"}}, HostsFile: "/h", TerminationLog: "/log",
	})).Must(t)
	want := []*runtimeapi.Mount{
		{HostPath: "/v"}, {HostPath: "/h", ContainerPath: "/etc/hosts", SelinuxRelabel: true},
		{HostPath: "/log", ContainerPath: "/dev/termination-log", SelinuxRelabel: true},
	}
	assert.Deep(t, "mounts", want, got.Mounts, protocmp.Transform())
}

// ownsMain: the container main of every pod has CPUs for itself.
func ownsMain(_ types.UID, container string) bool { return container == "main" }

func TestContainerResources(t *testing.T) {
	gi := resource.MustParse("1Gi")
	for _, tc := range []struct {
		name string
		node Node
		pod  v1.PodSpec
		in   v1.ResourceRequirements
		want *runtimeapi.LinuxContainerResources
	}{
		{"A-CRI-7 nothing set", Node{}, v1.PodSpec{}, v1.ResourceRequirements{}, &runtimeapi.LinuxContainerResources{CpuPeriod: 100_000, CpuShares: 2, OomScoreAdj: 1000}},
		{
			"A-CRI-7 a limit is the request too", Node{}, v1.PodSpec{}, v1.ResourceRequirements{Limits: resources("2", "")},
			&runtimeapi.LinuxContainerResources{CpuPeriod: 100_000, CpuShares: 2048, CpuQuota: 200_000, OomScoreAdj: 999},
		},
		{
			"A-CRI-7 cpuCFSQuota=false", Node{CPULimits: podcgroup.CPULimits{Off: true}}, v1.PodSpec{}, v1.ResourceRequirements{Limits: resources("2", "")},
			&runtimeapi.LinuxContainerResources{CpuShares: 2048, OomScoreAdj: 999},
		},
		{
			"A-CRI-7, A-NUMA-18 CPUs of its own", Node{CPULimits: podcgroup.CPULimits{OwnCPUs: ownsMain}}, v1.PodSpec{}, v1.ResourceRequirements{Limits: resources("2", "")},
			&runtimeapi.LinuxContainerResources{CpuShares: 2048, CpuPeriod: 100_000, CpuQuota: -1, OomScoreAdj: 999},
		},
		{
			"A-CRI-7 cpuCFSQuotaPeriod", Node{CPULimits: podcgroup.CPULimits{Period: 10 * time.Millisecond}}, v1.PodSpec{}, v1.ResourceRequirements{Limits: resources("2", "")},
			&runtimeapi.LinuxContainerResources{CpuShares: 2048, CpuPeriod: 10_000, CpuQuota: 20_000, OomScoreAdj: 999},
		},
		{
			"A-CRI-8 limits of the pod", Node{HugePageSizes: []string{"1GB", "2MB"}},
			v1.PodSpec{Resources: &v1.ResourceRequirements{Limits: v1.ResourceList{"cpu": resource.MustParse("1"), "memory": gi, "hugepages-2Mi": gi, "hugepages-1Gi": gi}}},
			v1.ResourceRequirements{Limits: v1.ResourceList{"memory": resource.MustParse("1Mi"), "hugepages-2Mi": resource.MustParse("2Mi")}},
			&runtimeapi.LinuxContainerResources{
				CpuPeriod: 100_000, CpuShares: 1024, CpuQuota: 100_000, MemoryLimitInBytes: 1 << 20, OomScoreAdj: 999,
				HugepageLimits: []*runtimeapi.HugepageLimit{{PageSize: "1GB", Limit: 1 << 30}, {PageSize: "2MB", Limit: 2 << 20}},
			},
		},
		{
			"A-CRI-11 cgroup v2", Node{CgroupV2: true, SwapLimit: true}, v1.PodSpec{}, v1.ResourceRequirements{},
			&runtimeapi.LinuxContainerResources{CpuPeriod: 100_000, CpuShares: 2, OomScoreAdj: 1000, Unified: map[string]string{"memory.oom.group": "1", "memory.high": "max", "memory.swap.max": "0"}},
		},
		{
			"A-CRI-11 singleProcessOOMKill", Node{CgroupV2: true, SingleProcessOOMKill: true}, v1.PodSpec{}, v1.ResourceRequirements{},
			&runtimeapi.LinuxContainerResources{CpuPeriod: 100_000, CpuShares: 2, OomScoreAdj: 1000, Unified: map[string]string{"memory.high": "max"}},
		},
		{
			"A-CRI-11 cgroup v1 with swap", Node{SwapLimit: true}, v1.PodSpec{}, v1.ResourceRequirements{Limits: resources("", "1Gi")},
			&runtimeapi.LinuxContainerResources{CpuPeriod: 100_000, CpuShares: 2, MemoryLimitInBytes: 1 << 30, MemorySwapLimitInBytes: 1 << 30, OomScoreAdj: 999},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			container := v1.Container{Name: "main", Resources: tc.in}
			tc.pod.Containers = []v1.Container{container}
			assert.Deep(t, "resources", tc.want, Resources(tc.node, &v1.Pod{Spec: tc.pod}, &container), protocmp.Transform())
		})
	}
}

func TestHost(t *testing.T) {
	got := assert.Get(Host()).Must(t)
	assert.True(t, got.MemoryBytes >= 64<<20, "memory = %d bytes", got.MemoryBytes)
}

func TestHugePages(t *testing.T) {
	folder := t.TempDir()
	for size, count := range map[string]string{"hugepages-2048kB": "3\n", "hugepages-1048576kB": "0\n"} {
		assert.Must(t, os.MkdirAll(filepath.Join(folder, size), 0o755))
		assert.Must(t, os.WriteFile(filepath.Join(folder, size, "nr_hugepages"), []byte(count), 0o600))
	}
	got := assert.Get(hugePages(folder)).Must(t)
	assert.Deep(t, "A-CRI-8", map[v1.ResourceName]int64{"hugepages-2Mi": 6 << 20, "hugepages-1Gi": 0}, got)
}

func TestStopSignal(t *testing.T) {
	signal := func(s v1.Signal) *v1.Lifecycle { return &v1.Lifecycle{StopSignal: &s} }
	for name, tc := range map[string]struct {
		lifecycle *v1.Lifecycle
		want      runtimeapi.Signal
	}{
		"no lifecycle": {nil, runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT},
		"no signal":    {&v1.Lifecycle{}, runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT},
		"SIGUSR1":      {signal(v1.SIGUSR1), runtimeapi.Signal_SIGNAL_SIGUSR1},
		"SIGRTMIN+3":   {signal(v1.SIGRTMINPLUS3), runtimeapi.Signal_SIGNAL_SIGRTMINPLUS3},
	} {
		got := assert.Get(Container(ContainerInput{Pod: testPod(), Container: &v1.Container{Name: "main", Lifecycle: tc.lifecycle}})).Must(t)
		assert.Equal(t, tc.want, got.StopSignal, "A-CRI-12 %s", name)
	}
}

// A-DEV-1: what was assigned to a container is part of its config, before what volumes bring.
func TestAssigned(t *testing.T) {
	pod := testPod()
	container := &v1.Container{Name: "main", Image: "app:1"}
	pod.Spec.Containers = []v1.Container{*container}
	got := assert.Get(Container(ContainerInput{
		Pod: pod, Container: container, RestartCount: 2, ImageRef: "sha256:abc",
		Mounts:  []*runtimeapi.Mount{{HostPath: "/pods/v", ContainerPath: "/v"}},
		Devices: []*runtimeapi.Device{{HostPath: "/dev/loop7", ContainerPath: "/dev/block", Permissions: "mrw"}},
		Assigned: Assigned{
			Mounts:      []*runtimeapi.Mount{{HostPath: "/usr/lib/gpu", ContainerPath: "/gpu", Readonly: true}},
			Devices:     []*runtimeapi.Device{{HostPath: "/dev/gpu0", ContainerPath: "/dev/gpu0", Permissions: "rw"}},
			Annotations: map[string]string{"gpu": "0", restartCountAnnotation: "7"},
			CDIDevices:  []string{"vendor.com/gpu=0"},
			CPUs:        "2-3", MemoryNodes: "0",
		},
	})).Must(t)
	type part struct {
		Mounts               []*runtimeapi.Mount
		Devices              []*runtimeapi.Device
		CDI                  []*runtimeapi.CDIDevice
		Annotation, Restarts string
		CPUs, MemoryNodes    string
	}
	want := part{
		Mounts: []*runtimeapi.Mount{
			{HostPath: "/usr/lib/gpu", ContainerPath: "/gpu", Readonly: true}, {HostPath: "/pods/v", ContainerPath: "/v"},
		},
		Devices: []*runtimeapi.Device{
			{HostPath: "/dev/gpu0", ContainerPath: "/dev/gpu0", Permissions: "rw"},
			{HostPath: "/dev/loop7", ContainerPath: "/dev/block", Permissions: "mrw"},
		},
		CDI:        []*runtimeapi.CDIDevice{{Name: "vendor.com/gpu=0"}},
		Annotation: "0", Restarts: "2", CPUs: "2-3", MemoryNodes: "0",
	}
	has := part{
		got.Mounts, got.Devices, got.CDIDevices, got.Annotations["gpu"], got.Annotations[restartCountAnnotation],
		got.Linux.Resources.CpusetCpus, got.Linux.Resources.CpusetMems,
	}
	assert.Deep(t, "A-DEV-1 config", want, has, protocmp.Transform())
}

// A-DEV-1: where two say something of the same, the first counts.
func TestAdd(t *testing.T) {
	var all Assigned
	all.Add(Assigned{CDIDevices: []string{"v/c=1"}})
	all.Add(Assigned{
		Env: []KeyValue{{Name: "GPU", Value: "0"}}, Annotations: map[string]string{"a": "1"},
		CDIDevices: []string{"v/g=0", "v/c=1"}, CPUs: "1",
	})
	all.Add(Assigned{
		Env: []KeyValue{{Name: "GPU", Value: "9"}, {Name: "NIC", Value: "2"}}, Annotations: map[string]string{"a": "2", "b": "3"},
		CPUs: "7", MemoryNodes: "0,1",
	})
	want := Assigned{
		Env: []KeyValue{{Name: "GPU", Value: "0"}, {Name: "NIC", Value: "2"}}, Annotations: map[string]string{"a": "1", "b": "3"},
		CDIDevices: []string{"v/c=1", "v/g=0"}, CPUs: "1", MemoryNodes: "0,1",
	}
	assert.Deep(t, "assigned", want, all)
}
