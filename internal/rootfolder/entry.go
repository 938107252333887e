package rootfolder

import (
	"path/filepath"
	"slices"
)

// Entry is the name of a file or folder that lifepod makes in a state folder, not of what users put there.
type Entry string

// What the carried runtime and its users have there.
var (
	Bundle         = entry("bundle")
	Containerd     = entry("containerd")
	ContainerdLog  = entry("containerd.log")
	ContainerdConf = entry("containerd.toml")
	_              = entry("containerd.log.1") // the log before, see package logfile
	CNI            = entry("cni")
	IPAM           = entry("ipam")
	ImagesImported = entry("images.imported")
	NetworkRecord  = entry("network.json")
	CrunRecord     = entry("crun.path")
	Registries     = entry("certs.d")
	SupervisorLock = entry("supervisor.lock")
	UsersLock      = entry("users.lock")
)

// What pods have there, in lifepod run, the agent and on the nodes of clusters.
var (
	Pods         = entry("pods")
	Claims       = entry("claims")
	Logs         = entry("logs")
	Seccomp      = entry("seccomp")
	Names        = entry("names.lock")
	Runs         = entry("runs")
	RunLog       = entry("run.log")
	_            = entry("run.log.1")
	Agents       = entry("agents")
	AgentMemory  = entry("lifepod")
	AgentKeys    = entry("pki")
	Checkpoints  = entry("checkpoints")
	PodsAPI      = entry("pods-api")
	Journal      = entry("journal")
	_            = entry("journal.lock") // the locks of its pods, see package journal
	ImageManager = entry("image_manager")
	PodResources = entry("pod-resources")
	_            = entry("device-plugins/kubelet.sock")
	_            = entry("device-plugins/kubelet_internal_checkpoint")
)

// Shared are folders in which drivers have sockets, too: lifepod down --purge removes them if they are empty.
var Shared = []Entry{"device-plugins", "plugins_registry"}

// What clusters have there, and their program.
var (
	Program      = entry("program")
	Cluster      = entry("cluster")
	Join         = entry("join")
	Node         = entry("node")
	Volumes      = entry("volumes")
	VolumeImages = entry("volume-images")
	Backups      = entry("backups")
)

var entries []Entry

func entry(name string) Entry {
	entries = append(entries, Entry(name))
	return Entry(name)
}

// Entries are all of them: what lifepod down --purge removes.
func Entries() []Entry { return slices.Clone(entries) }

// In is the entry's path in the state folder at root.
func (e Entry) In(root string) string { return filepath.Join(root, string(e)) }
