package host

import (
	"log/slog"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
	"github.com/lifepod/lifepod/worker/netidentity"
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
	if _, err := netidentity.HostResolver(); err != nil {
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
		DNS:      worker.DNS{Resolver: netidentity.HostResolver, Cluster: netidentity.Cluster{Domain: clusterDomain, Absent: true}},
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
