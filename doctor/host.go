package doctor

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Host is the machine as the checks see it.
type Host struct {
	// Files is the file system, "/" being its root.
	Files fs.FS
	System
}

// System is what files don't tell. Tests answer for it.
type System interface {
	// KernelRelease is what uname -r prints, "" if it can't be told.
	KernelRelease() string
	// IsRoot tells whether the effective user is root.
	IsRoot() bool
	// LookPath returns an error if there is no such program.
	LookPath(program string) error
	// FileSystem describes what path lies in.
	FileSystem(path string) (FileSystem, error)
	// Now is the machine's clock.
	Now() time.Time
	// TryOverlay mounts an overlay whose upper folder lies in folder.
	TryOverlay(folder string) error
	// TryBridge makes a bridge and a cable in a network namespace of its own.
	TryBridge() error
	// Listing is what a packet filter program prints about its rules.
	Listing(program string, arguments ...string) (string, error)
	// TryNAT makes the rules in there that pods need, with iptables or nft.
	TryNAT(program string) error
}

// FileSystem holds the figures of a file system. Inodes is 0 for one that has
// no fixed number of them.
type FileSystem struct {
	Type                 int64
	SizeBytes, FreeBytes uint64
	Inodes, FreeInodes   uint64
}

type linux struct{}

// KernelRelease asks uname(2).
func (linux) KernelRelease() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

// IsRoot asks for the effective user.
func (linux) IsRoot() bool { return os.Geteuid() == 0 }

// LookPath looks in the folders of PATH.
func (linux) LookPath(program string) error {
	_, err := exec.LookPath(program)
	return err
}

// FileSystem asks statfs(2); what is free is so for everybody, not only for root.
func (linux) FileSystem(path string) (FileSystem, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return FileSystem{}, err
	}
	return FileSystem{
		Type:       stat.Type,
		SizeBytes:  stat.Blocks * uint64(stat.Bsize),
		FreeBytes:  stat.Bavail * uint64(stat.Bsize),
		Inodes:     stat.Files,
		FreeInodes: stat.Ffree,
	}, nil
}

// Now is the machine's clock.
func (linux) Now() time.Time { return time.Now() }

// Listing runs the program; its error output is lost.
func (linux) Listing(program string, arguments ...string) (string, error) {
	out, err := exec.Command(program, arguments...).Output()
	return string(out), err
}

// read is a file's text without surrounding space; "" if it can't be read.
func (h Host) read(path string) string {
	text, err := fs.ReadFile(h.Files, strings.TrimPrefix(path, "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (h Host) exists(path string) bool {
	_, err := fs.Stat(h.Files, strings.TrimPrefix(path, "/"))
	return err == nil
}

// hasModule tells whether the kernel has a module in it, or can load it.
func (h Host) hasModule(name string) bool {
	if h.exists("/sys/module/" + name) {
		return true
	}
	folder := "/lib/modules/" + h.KernelRelease()
	for _, list := range []string{"modules.builtin", "modules.dep"} {
		for line := range strings.Lines(h.read(folder + "/" + list)) {
			file, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			module, _, _ := strings.Cut(filepath.Base(file), ".ko")
			if strings.ReplaceAll(module, "-", "_") == name {
				return true
			}
		}
	}
	return false
}
