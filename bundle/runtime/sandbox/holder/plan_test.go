package holder

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// podSpec is the spec of a sandbox as containerd makes it.
func podSpec() *specs.Spec {
	shares, score := uint64(2), -998
	return &specs.Spec{
		Process:     &specs.Process{User: specs.User{UID: 65535, GID: 65535}, OOMScoreAdj: &score, NoNewPrivileges: true},
		Hostname:    "a-pod",
		Annotations: map[string]string{typeAnnotation: sandboxType},
		Linux: &specs.Linux{
			CgroupsPath: "/pods/a",
			Sysctl:      map[string]string{"net.ipv4.ip_unprivileged_port_start": "0"},
			Resources: &specs.LinuxResources{
				Devices: []specs.LinuxDeviceCgroup{{Access: "rwm"}}, CPU: &specs.LinuxCPU{Shares: &shares},
			},
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
				{Type: specs.NetworkNamespace, Path: "/run/netns/a"}, {Type: specs.UserNamespace, Path: "/run/userns/a"},
			},
		},
	}
}

func TestPlan(t *testing.T) {
	got, fits := NewPlan(podSpec())
	score := -998
	want := Plan{
		namespaces: unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNS,
		network:    "/run/netns/a", user: "/run/userns/a", hostname: "a-pod", uid: 65535, gid: 65535, oomScore: &score,
		CgroupPath: "/pods/a", CPUShares: 2,
		sysctls: everyPods[:1],
	}
	assert.True(t, fits && cmp.Equal(got, want, cmp.AllowUnexported(Plan{}, sysctl{})), "fits: %v\n%s", fits, cmp.Diff(want, got, cmp.AllowUnexported(Plan{}, sysctl{})))
}

// Whatever else a spec asks for is the runtime's business.
func TestWhatTakesARuntime(t *testing.T) {
	limit := int64(1 << 20)
	for name, change := range map[string]func(*specs.Spec){
		"a container":                  func(s *specs.Spec) { s.Annotations[typeAnnotation] = "container" },
		"SELinux":                      func(s *specs.Spec) { s.Process.SelinuxLabel = "system_u:system_r:container_t:s0" },
		"AppArmor":                     func(s *specs.Spec) { s.Process.ApparmorProfile = "some" },
		"hooks":                        func(s *specs.Spec) { s.Hooks = &specs.Hooks{} },
		"devices":                      func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/kvm"}} },
		"a limit":                      func(s *specs.Spec) { s.Linux.Resources.Memory = &specs.LinuxMemory{Limit: &limit} },
		"a quota":                      func(s *specs.Spec) { s.Linux.Resources.CPU.Quota = &limit },
		"a property of systemd":        func(s *specs.Spec) { s.Annotations["org.systemd.property.CPUWeight"] = "uint64 1" },
		"no cgroup":                    func(s *specs.Spec) { s.Linux.CgroupsPath = "" },
		"a user namespace to be made":  func(s *specs.Spec) { s.Linux.Namespaces[5].Path = "" },
		"a time namespace":             func(s *specs.Spec) { s.Linux.Namespaces[5].Type = specs.TimeNamespace },
		"another's IPC namespace":      func(s *specs.Spec) { s.Linux.Namespaces[1].Path = "/proc/1/ns/ipc" },
		"the machine's mounts":         func(s *specs.Spec) { s.Linux.Namespaces[3].Type = specs.CgroupNamespace },
		"the hostname of the machine":  func(s *specs.Spec) { s.Linux.Namespaces[2].Type = specs.CgroupNamespace },
		"a sysctl of the machine":      func(s *specs.Spec) { s.Linux.Sysctl["vm.swappiness"] = "0" },
		"a sysctl of elsewhere":        func(s *specs.Spec) { s.Linux.Sysctl["net./../../kernel.core_pattern"] = "x" },
		"a sysctl of the pod's own":    func(s *specs.Spec) { s.Linux.Sysctl["kernel.shm_rmid_forced"] = "1" },
		"another value":                func(s *specs.Spec) { s.Linux.Sysctl["net.ipv4.ip_unprivileged_port_start"] = "1024" },
		"a value with a NUL":           func(s *specs.Spec) { s.Linux.Sysctl["net.ipv4.ip_unprivileged_port_start"] = "0\x00/etc/passwd\x00x" },
		"IDs of the pod's own":         func(s *specs.Spec) { s.Linux.Sysctl["net.ipv4.ping_group_range"] = "0 2147483647" },
		"a sysctl of the host network": func(s *specs.Spec) { s.Linux.Namespaces[4] = specs.LinuxNamespace{Type: specs.CgroupNamespace} },
	} {
		spec := podSpec()
		change(spec)
		if p, fits := NewPlan(spec); fits {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// FuzzPlan: whatever a spec says, only the sysctls that every pod has are written, and only
// those that it asks for.
func FuzzPlan(f *testing.F) {
	for _, s := range everyPods {
		f.Add(s.key, s.value)
	}
	f.Add("net.ipv4.ip_unprivileged_port_start", "0\x00/etc/passwd\x00x")
	f.Add("net/../kernel/core_pattern", "|/bin/sh")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, key, value string) {
		spec := podSpec()
		spec.Linux.Namespaces = spec.Linux.Namespaces[:5] // without a user namespace
		spec.Linux.Sysctl = map[string]string{key: value}
		p, fits := NewPlan(spec)
		if !fits {
			return
		}
		if len(p.sysctls) != 1 || !slices.Contains(everyPods, p.sysctls[0]) || p.sysctls[0].key != key || p.sysctls[0].value != value {
			t.Errorf("%q = %q is %+v", key, value, p.sysctls)
		}
	})
}
