package leftovers

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"github.com/prometheus/procfs"

	"github.com/lifepod/lifepod/internal/loopdevice"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// runtimePrograms are judged by their arguments, too: they may have been
// started from elsewhere than the root.
var runtimePrograms = []string{"containerd", "containerd-shim-runc-v2", "runc"}

// findProcesses lists the runtime's processes, containerd first so that it
// doesn't see its shims vanish. The processes of containers are found by their
// cgroup.
func (s system) findProcesses(place Place) ([]Leftover, error) {
	fs, err := procfs.NewFS(s.proc)
	if err != nil {
		return nil, fmt.Errorf("find processes: %w", err)
	}
	all, err := fs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("find processes: %w", err)
	}
	spared := selfAndParents(fs)
	var found []Leftover
	for _, proc := range all {
		if slices.Contains(spared, proc.PID) || !belongs(proc, place) {
			continue
		}
		// A process that ends meanwhile is no leftover.
		if stat, err := pidfd.Stat(proc); err == nil {
			arguments, _ := proc.CmdLine() // none, if it ends now
			found = append(found, Leftover{
				Kind: Process, Name: strconv.Itoa(proc.PID), Detail: strings.Join(arguments, " "), process: pidfd.Of(stat),
			})
		}
	}
	slices.SortFunc(found, func(a, b Leftover) int { return cmp.Or(rank(a)-rank(b), a.process.PID-b.process.PID) })
	return found, nil
}

func rank(process Leftover) int {
	program, _, _ := strings.Cut(process.Detail, " ")
	if filepath.Base(program) == "containerd" {
		return 0
	}
	return 1
}

// belongs tells whether a process runs a program of this root, or is a runtime
// program that was given a path of this root.
func belongs(proc procfs.Proc, place Place) bool {
	program := pidfd.Program(proc)
	if below(program, place.Root) {
		return true
	}
	if !slices.Contains(runtimePrograms, filepath.Base(program)) {
		return false
	}
	arguments, _ := proc.CmdLine() // none, if it has ended
	return slices.ContainsFunc(arguments, func(argument string) bool {
		if _, value, found := strings.Cut(argument, "="); found && strings.HasPrefix(argument, "-") {
			argument = value
		}
		return place.holds(resolve(strings.TrimPrefix(argument, "unix://")))
	})
}

// selfAndParents are this process and those that started it: a lifepod that
// lies below its own root is not its own leftover.
func selfAndParents(fs procfs.FS) []int {
	pids := []int{os.Getpid()}
	for pid := os.Getpid(); pid > 1; pids = append(pids, pid) {
		proc, err := fs.Proc(pid)
		if err != nil {
			break
		}
		stat, err := proc.Stat()
		if err != nil {
			break
		}
		pid = stat.PPID
	}
	return pids
}

// findLoops lists the loop devices of files below the two folders, which may have been deleted.
func findLoops(place Place) (found []Leftover, err error) {
	files, err := loopdevice.Files()
	for device, file := range files {
		if file = strings.TrimSuffix(file, " (deleted)"); place.holds(file) {
			found = append(found, Leftover{Kind: LoopDevice, Name: device, Detail: file})
		}
	}
	return found, err
}

// sweepLoop detaches a device that is still of the same file. Most are detached with their
// mount, and may be another's by now.
func sweepLoop(device, file string) error {
	files, err := loopdevice.Files()
	if err != nil || strings.TrimSuffix(files[device], " (deleted)") != file {
		return err
	}
	return loopdevice.Detach(device)
}

// findMounts lists the mounts below the two folders, the last one first, which
// is the order in which they can be taken away. loops are the loop devices of
// files below them.
func findMounts(place Place, loops []Leftover) ([]Leftover, error) {
	ours := func(mount *mountinfo.Info) bool {
		return slices.ContainsFunc(loops, func(l Leftover) bool { return l.Name == mount.Source })
	}
	mounts, err := mountinfo.GetMounts(func(mount *mountinfo.Info) (skip, stop bool) {
		return !place.holds(mount.Mountpoint) || isDisk(mount) && !ours(mount), false
	})
	if err != nil {
		return nil, fmt.Errorf("find mounts: %w", err)
	}
	var found []Leftover
	for _, mount := range slices.Backward(mounts) {
		found = append(found, Leftover{Kind: Mount, Name: mount.Mountpoint, Detail: mount.FSType})
	}
	return found, nil
}

// isDisk tells whether this is a whole file system of a device, which an
// administrator mounted there to hold the data; lifepod mounts only overlays,
// memory, namespaces and single folders, and volumes that are files of its own.
func isDisk(mount *mountinfo.Info) bool {
	return mount.Root == "/" && strings.HasPrefix(mount.Source, "/dev/")
}
