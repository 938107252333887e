package holder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Plan is what the process of a sandbox is to do.
type Plan struct {
	// namespaces are made, as clone(2) takes them.
	namespaces uint32
	// network and user are namespaces that are joined, by their files; empty for those
	// of the machine.
	network, user string
	hostname      string
	uid, gid      uint32
	sysctls       []sysctl
	oomScore      *int
	// CgroupPath is where the process belongs, in the words of the cgroup driver, and
	// CPUShares its share of the CPU; 0 says nothing about that.
	CgroupPath string
	CPUShares  uint64
}

// cloneFlags are the namespaces that the process makes.
var cloneFlags = map[specs.LinuxNamespaceType]uint32{
	specs.PIDNamespace:    unix.CLONE_NEWPID,
	specs.IPCNamespace:    unix.CLONE_NEWIPC,
	specs.UTSNamespace:    unix.CLONE_NEWUTS,
	specs.MountNamespace:  unix.CLONE_NEWNS,
	specs.CgroupNamespace: unix.CLONE_NEWCGROUP,
}

// The annotation that tells a sandbox from a container, and its value.
const (
	typeAnnotation = "io.kubernetes.cri.container-type"
	sandboxType    = "sandbox"
)

// sysctl is a setting of the kernel that a network namespace has for itself.
type sysctl struct {
	key, path, value string
	// ids says that the value has IDs of the user namespace of who writes it, here the machine's.
	ids bool
}

// everyPods are what containerd sets for each pod that has a network namespace of its own. Nothing
// else is written below /proc/sys, whatever a spec says.
var everyPods = []sysctl{
	{"net.ipv4.ip_unprivileged_port_start", "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", false},
	{"net.ipv4.ping_group_range", "/proc/sys/net/ipv4/ping_group_range", "0 2147483647", true},
}

// ReadPlan is NewPlan for the spec in a bundle.
func ReadPlan(bundle string) (Plan, bool, error) {
	text, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return Plan{}, false, fmt.Errorf("read the spec: %w", err)
	}
	var spec specs.Spec
	if err := json.Unmarshal(text, &spec); err != nil {
		return Plan{}, false, fmt.Errorf("read the spec: %w", err)
	}
	p, fits := NewPlan(&spec)
	return p, fits, nil
}

// NewPlan says what a sandbox's spec asks for; false, if it is none, or asks for what
// takes a runtime. The process needs no capability, seccomp profile, device, mount or
// limit of the spec: it has none of the first, may make next to no calls, and sees no file.
func NewPlan(spec *specs.Spec) (Plan, bool) {
	p := Plan{hostname: spec.Hostname}
	if spec.Annotations[typeAnnotation] != sandboxType || !plain(spec) {
		return p, false
	}
	if !p.addNamespaces(spec.Linux.Namespaces) || !p.addSysctls(spec.Linux.Sysctl) {
		return p, false
	}
	p.uid, p.gid = spec.Process.User.UID, spec.Process.User.GID
	p.oomScore = spec.Process.OOMScoreAdj
	p.CgroupPath = spec.Linux.CgroupsPath
	if r := spec.Linux.Resources; r != nil && r.CPU != nil && r.CPU.Shares != nil {
		p.CPUShares = *r.CPU.Shares
	}
	return p, true
}

// addNamespaces says whether the process can make and join them.
func (p *Plan) addNamespaces(namespaces []specs.LinuxNamespace) bool {
	for _, n := range namespaces {
		flag, made := cloneFlags[n.Type]
		switch {
		case made && n.Path == "":
			p.namespaces |= flag
		case n.Type == specs.NetworkNamespace && n.Path != "":
			p.network = n.Path
		case n.Type == specs.UserNamespace && n.Path != "":
			p.user = n.Path
		default:
			return false
		}
	}
	return p.namespaces&unix.CLONE_NEWNS != 0 && (p.hostname == "" || p.namespaces&unix.CLONE_NEWUTS != 0)
}

// addSysctls says whether they are what containerd asks for: others are a pod's own, which the
// runtime checks and writes.
func (p *Plan) addSysctls(values map[string]string) bool {
	if len(values) > 0 && p.network == "" {
		return false
	}
	for _, s := range everyPods {
		if value, asked := values[s.key]; asked && value == s.value && !(s.ids && p.user != "") {
			p.sysctls = append(p.sysctls, s)
		}
	}
	return len(p.sysctls) == len(values)
}

// plain says whether a spec has nothing but what every sandbox has.
func plain(spec *specs.Spec) bool {
	process, linux := spec.Process, spec.Linux
	if process == nil || linux == nil || spec.Hooks != nil || spec.Domainname != "" {
		return false
	}
	for annotation := range spec.Annotations {
		if strings.HasPrefix(annotation, "org.systemd.property.") {
			return false
		}
	}
	return plainProcess(process) && plainLinux(linux)
}

func plainProcess(process *specs.Process) bool {
	return process.SelinuxLabel == "" && process.ApparmorProfile == "" && process.Scheduler == nil && process.IOPriority == nil
}

func plainLinux(linux *specs.Linux) bool {
	if len(linux.Devices) > 0 || linux.IntelRdt != nil || linux.Personality != nil || linux.TimeOffsets != nil {
		return false
	}
	return linux.CgroupsPath != "" && plainResources(linux.Resources)
}

// plainResources says whether there is no limit but shares of the CPU. The process opens
// no device, whichever it may.
func plainResources(r *specs.LinuxResources) bool {
	if r == nil {
		return true
	}
	rest := *r
	rest.Devices, rest.CPU = nil, nil
	if r.CPU != nil {
		cpu := *r.CPU
		cpu.Shares = nil
		if !reflect.ValueOf(cpu).IsZero() {
			return false
		}
	}
	return reflect.ValueOf(rest).IsZero()
}

// setUp sets what takes a text: the hostname, and sysctls. Its thread joins the namespaces that they
// belong to, in the user namespace of the machine; it never comes back, but ends.
func (h *Holder) setUp() error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- errors.Join(h.setHostname(), h.setSysctls())
	}()
	return <-done
}

func (h *Holder) setHostname() error {
	if h.plan.hostname == "" {
		return nil
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/uts", h.PID))
	if err != nil {
		return fmt.Errorf("set the hostname: %w", err)
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("set the hostname: join its namespace: %w", err)
	}
	if err := unix.Sethostname([]byte(h.plan.hostname)); err != nil {
		return fmt.Errorf("set the hostname: %w", err)
	}
	return nil
}

func (h *Holder) setSysctls() error {
	if len(h.plan.sysctls) == 0 {
		return nil
	}
	if err := unix.Setns(int(h.network.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("set sysctls: join the network namespace: %w", err)
	}
	for _, s := range h.plan.sysctls {
		file, err := os.OpenFile(s.path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("set sysctl %s: %w", s.key, err)
		}
		_, err = file.WriteString(s.value)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("set sysctl %s: %w", s.key, err)
		}
	}
	return nil
}
