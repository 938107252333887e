package bundle

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// The folders of a lifepod that was told nothing else.
const (
	DefaultRoot   = "/var/lib/lifepod"
	DefaultRunDir = "/run/lifepod"
)

// maxRunDir keeps the shims' sockets, whose folder containerd limits to 42
// bytes, within the 108 bytes of a unix socket's address.
const maxRunDir = 42 - len("/s")

// Paths says where everything of one root lies.
type Paths struct {
	// Root is the state folder: what outlives a reboot.
	Root string
	// RunDir has the sockets and what lives no longer than the machine is up.
	RunDir string
	// Bundle is the folder of the unpacked programs, named by digest.
	Bundle string
	// folder has the unpacked programs of one kind, below Root; rootfolder.Bundle if empty.
	folder rootfolder.Entry
}

// Locate says where a root has its things, without touching any. Empty
// arguments mean the defaults; Bundle is set by [Unpack] and [Open] only. A root that
// others can change is refused: what is below it runs as root.
func Locate(root, runDir string) (Paths, error) {
	if root == "" {
		root = DefaultRoot
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return Paths{}, fmt.Errorf("find the state folder: %w", err)
	}
	p := Paths{Root: root, RunDir: runDir}
	if p.RunDir == "" {
		p.RunDir = DefaultRunDir + p.suffix()
	}
	if !filepath.IsAbs(p.RunDir) || len(p.RunDir) > maxRunDir {
		return Paths{}, fmt.Errorf("run folder %q: must be an absolute path of at most %d bytes, because it holds unix sockets", p.RunDir, maxRunDir)
	}
	return p, rootfolder.Check(root)
}

// Command is a command line of lifepod for a state folder, as the user can type it.
func Command(root, words string) string {
	if root == "" || root == DefaultRoot {
		return "lifepod " + words
	}
	return "lifepod --root " + root + " " + words
}

// suffix tells this root's names from another's where they share a name
// space: bridges, cgroups, run folders. It is empty for the default root.
func (p Paths) suffix() string {
	if p.Root == DefaultRoot {
		return ""
	}
	return "-" + p.hash()
}

// hash is eight hex digits that stand for the root.
func (p Paths) hash() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.Root)))[:8]
}

// Containerd, Shim and Runc are the unpacked programs.
func (p Paths) Containerd() string { return filepath.Join(p.Bundle, "bin", "containerd") }

// Shim is the runtime shim that containerd starts for each pod.
func (p Paths) Shim() string { return filepath.Join(p.Bundle, "bin", "containerd-shim-runc-v2") }

// Runc is the OCI runtime that the shim calls.
func (p Paths) Runc() string { return filepath.Join(p.Bundle, "bin", "runc") }

// CNIBin is the folder of the unpacked CNI plugins.
func (p Paths) CNIBin() string { return filepath.Join(p.Bundle, "cni") }

// Images is the folder of the carried image archives.
func (p Paths) Images() string { return filepath.Join(p.Bundle, "images") }

// Socket is where containerd serves CRI and its own API.
func (p Paths) Socket() string { return filepath.Join(p.RunDir, "containerd.sock") }

// Log is containerd's own log; the file before it has the suffix .1.
func (p Paths) Log() string { return rootfolder.ContainerdLog.In(p.Root) }

// IPAM is the folder in which lifepod-ipam remembers who has which address.
func (p Paths) IPAM() string { return rootfolder.IPAM.In(p.Root) }

// CNIConf is the folder of the generated network configuration.
func (p Paths) CNIConf() string { return rootfolder.CNI.In(p.Root) }

// Registries is where the user configures registries, a folder per host, in
// containerd's hosts.toml format.
func (p Paths) Registries() string { return rootfolder.Registries.In(p.Root) }

// FilterTable is the name of this root's nft table, and the comment of its rule
// where there is only iptables.
func (p Paths) FilterTable() string { return "lifepod_" + p.hash() }

func (p Paths) bundles() string { return cmp.Or(p.folder, rootfolder.Bundle).In(p.Root) }
func (p Paths) config() string  { return rootfolder.ContainerdConf.In(p.Root) }
func (p Paths) content() string { return rootfolder.Containerd.In(p.Root) }
func (p Paths) state() string   { return filepath.Join(p.RunDir, "state") }
func (p Paths) tasks() string {
	return filepath.Join(p.state(), "io.containerd.runtime.v2.task/k8s.io")
}
func (p Paths) containers() string {
	return filepath.Join(p.content(), "io.containerd.grpc.v1.cri/containers")
}
func (p Paths) sandboxes() string {
	return filepath.Join(p.content(), "io.containerd.grpc.v1.cri/sandboxes")
}
func (p Paths) crunRecord() string     { return rootfolder.CrunRecord.In(p.Root) }
func (p Paths) shimSockets() string    { return filepath.Join(p.RunDir, "s") }
func (p Paths) record() string         { return filepath.Join(p.RunDir, "containerd.json") }
func (p Paths) supervision() string    { return filepath.Join(p.RunDir, "supervisor.sock") }
func (p Paths) notification() string   { return filepath.Join(p.RunDir, "notify.sock") }
func (p Paths) usersLock() string      { return rootfolder.UsersLock.In(p.Root) }
func (p Paths) supervisorLock() string { return rootfolder.SupervisorLock.In(p.Root) }
func (p Paths) networkRecord() string  { return rootfolder.NetworkRecord.In(p.Root) }
func (p Paths) importedRecord() string { return rootfolder.ImagesImported.In(p.Root) }
