package host

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
	"github.com/lifepod/lifepod/worker/podcgroup"
	"github.com/lifepod/lifepod/worker/podlog"
)

// NodeConfig is what a node of one pod needs beside what is read off the machine.
type NodeConfig struct {
	Runtime      *cri.Client
	RuntimeName  string                   // "containerd" if empty
	Containerd   grpc.ClientConnInterface // nil with another runtime
	Root         string
	CgroupParent string
	Systemd      bool
	IPAMDir      string
	Objects      worker.Objects
	Features     cri.Features
	// UnsafeSysctls are patterns of those that pods may set, too (A-ADM-6).
	UnsafeSysctls []string
	// RuntimeClasses of the manifest.
	RuntimeClasses worker.RuntimeClasses
	KeepFiles      bool
	PullProgress   func(pod *v1.Pod, image string, p images.Progress)
	Log            *slog.Logger
	Logs           podlog.RotationPolicy
}

// NewNode describes this machine without a cluster to the workers of its pods.
func NewNode(c NodeConfig) (*worker.Engine, error) {
	config, err := PodConfig(c.Root)
	if err != nil {
		return nil, err
	}
	if _, err := criconfig.HostResolver(); err != nil {
		return nil, err
	}
	admits, err := Admits(c.UnsafeSysctls, c.Features)
	if err != nil {
		return nil, err
	}
	admits.Allocatable = allocatable(c.Root, config.MemoryBytes, config.HugePages)
	options := lifecycle.DefaultOptions()
	options.HostIPs = IPs()
	if c.RuntimeName != "" {
		options.RuntimeName = c.RuntimeName
	}
	return &worker.Engine{
		Runtime:  c.Runtime.Runtime,
		Features: c.Features,
		Images:   images.New(c.Runtime.Images, images.Options{NodeConfigs: images.DefaultNodeConfigs(), Containerd: c.Containerd}),
		Cgroups:  podcgroup.Driver{Parent: c.CgroupParent, Systemd: c.Systemd, Moves: new(podcgroup.Moves)},
		DNS:      worker.DNS{Resolver: criconfig.HostResolver, Cluster: criconfig.ClusterDNS{Domain: clusterDomain, Absent: true}},
		Config:   config,
		Folders: worker.Folders{
			Pods: PodsDir(c.Root), Claims: rootfolder.Claims.In(c.Root), IPAM: c.IPAMDir, Keep: c.KeepFiles,
			Journal: Journal(c.Root),
		},
		API: worker.API{Objects: func(*v1.Pod) worker.Objects { return c.Objects }, RuntimeClasses: c.RuntimeClasses},

		Admission:   worker.Admission{Host: &admits},
		Allocatable: admits.Allocatable,
		Options:     options,
		Timeouts:    worker.DefaultTimeouts(),
		Clock:       worker.Clock{Machine: Clock},

		PullProgress: c.PullProgress,
		Logs:         worker.NewLogs(c.Logs, c.Runtime.Runtime, c.Log),
		Log:          c.Log,
	}, nil
}

// PodConfig is this machine's part of the configs of pods, whose logs and seccomp
// profiles are below root.
func PodConfig(root string) (criconfig.Node, error) {
	config, err := criconfig.Host()
	config.LogRoot, config.Seccomp = LogRoot(root), criconfig.Seccomp{Root: rootfolder.Seccomp.In(root), Default: true}
	config.SELinux = criconfig.SELinuxEnabled()
	return config, err
}

// clusterDomain ends the full name of a pod with a subdomain, as in most
// clusters; there is no cluster DNS that would know it.
const clusterDomain = "cluster.local"

// PodsDir is where the pods of a root have their folders, by UID (A-VOL-1).
func PodsDir(root string) string { return rootfolder.Pods.In(root) }

// LogRoot is where the pods of a root have their logs.
func LogRoot(root string) string { return rootfolder.Logs.In(root) }

// Name is this machine's name as the kubelet takes it.
func Name() string {
	name, _ := os.Hostname() // a machine without a name is one with an empty name
	return strings.ToLower(strings.TrimSpace(name))
}

// allocatable is the whole machine: nothing is reserved on it.
func allocatable(root string, memory int64, hugePages map[v1.ResourceName]int64) v1.ResourceList {
	list := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
	var disk unix.Statfs_t
	if unix.Statfs(root, &disk) == nil { // of a disk that can't be asked nothing is known
		list[v1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(disk.Blocks)*disk.Bsize, resource.BinarySI)
	}
	for name, bytes := range hugePages {
		list[name] = *resource.NewQuantity(bytes, resource.BinarySI)
	}
	return list
}

// Journal takes what happens to the pods of a state folder. A process has one.
func Journal(root string) *journal.Writers {
	return journal.Folder{Dir: rootfolder.Journal.In(root)}.Writers()
}

// IPs are the addresses that the machine uses towards the outside, one of
// each family that it has a route for, IPv4 first (A-CST-17); the loopback
// address where it has no route at all. The targets are documentation
// addresses, and nothing is sent.
func IPs() []string {
	ips := append(outwardIP("udp4", "192.0.2.1:9"), outwardIP("udp6", "[2001:db8::1]:9")...)
	if ips == nil {
		return []string{"127.0.0.1"}
	}
	return ips
}

func outwardIP(network, target string) []string {
	conn, err := net.Dial(network, target)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	ip := conn.LocalAddr().(*net.UDPAddr).IP
	if ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return nil
	}
	return []string{ip.String()}
}

// EnterCgroup moves this process into a cgroup, which is made if there is none.
func EnterCgroup(path string) error {
	m, err := manager.New(&cgroups.Cgroup{Path: path, Resources: &cgroups.Resources{SkipDevices: true}})
	if err != nil {
		return err
	}
	return m.Apply(os.Getpid())
}

// Admits is what this machine and its runtime enforce, but for its resources; unsafeSysctls are the patterns that the
// node's owner allows.
func Admits(unsafeSysctls []string, features cri.Features) (admit.Host, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return admit.Host{}, fmt.Errorf("read the kernel's version: %w", err)
	}
	sysctls, err := admit.AllowSysctls(unix.ByteSliceToString(name.Release[:]), unsafeSysctls)
	if err != nil {
		return admit.Host{}, err
	}
	return admit.Host{
		Allocatable:              v1.ResourceList{},
		SupplementalGroupsPolicy: features.SupplementalGroupsPolicy,
		AppArmor:                 appArmorEnabled("/sys"),
		SELinux:                  criconfig.SELinuxEnabled(),
		Sysctls:                  sysctls,
	}, nil
}

func appArmorEnabled(sys string) bool {
	text, err := os.ReadFile(sys + "/module/apparmor/parameters/enabled")
	if err != nil || len(text) == 0 || text[0] != 'Y' {
		return false
	}
	_, err = os.Stat(sys + "/kernel/security/apparmor")
	return err == nil
}

// LeftoverPlace is where the lifepods of a root have their things.
func LeftoverPlace(paths bundle.Paths) leftovers.Place {
	return leftovers.Place{
		Root: paths.Root, RunDir: paths.RunDir, CgroupParent: paths.CgroupParent(), Bridge: paths.Bridge(),
		FilterTable: paths.FilterTable(), Endpoint: "unix://" + paths.Socket(),
	}
}

// On a disk with less room than that, numbers don't say whether a pod's state can be saved:
// some of it may be root's alone, and some a file system's own.
const (
	littleRoom  = 16 << 20 // bytes
	littleFiles = 100
	// stateSize is about what the state of a large pod takes.
	stateSize = 64 << 10
)

// Writable says why nothing can be written into a folder. It only writes if there is
// little room, so that no sleeping disk is woken.
func Writable(dir string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	switch {
	case disk.Flags&unix.ST_RDONLY != 0:
		return fmt.Errorf("%s: %w", dir, unix.EROFS)
	case disk.Blocks > 0 && disk.Bavail*uint64(disk.Bsize) < littleRoom, disk.Files > 0 && disk.Ffree < littleFiles:
		if err := wholefile.Try(dir, stateSize); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}
