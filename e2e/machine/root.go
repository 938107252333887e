package machine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// Root is one state folder of lifepod.
type Root struct{ Dir string }

// Hash is what tells this root's names in the kernel from another's.
func (r Root) Hash() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(r.Dir)))[:8] }

// RunDir is where the root has what does not outlive a reboot.
func (r Root) RunDir() string { return "/run/lifepod-" + r.Hash() }

func (r Root) Bridge() string { return "lp-" + r.Hash() }

// ownLink is the interface of a cluster's own address, on a machine without a default route.
func (r Root) ownLink() string { return "lpa-" + r.Hash() }

// RemoveCluster removes what a lifepod up without a node, which was killed, has outside of the state folder.
func (r Root) RemoveCluster() error {
	errs := []error{os.RemoveAll(r.RunDir())}
	if link, err := netlink.LinkByName(r.ownLink()); err == nil {
		errs = append(errs, netlink.LinkDel(link))
	}
	return errors.Join(errs...)
}

func (r Root) Cgroup() string { return "lifepod-" + r.Hash() }

// Left lists what a lifepod of this root has left on the machine, the pods' logs
// included: every test fails that leaves something (B-GC-5, B-FIN-6).
func (r Root) Left() []string {
	left := slices.Concat(r.Processes(), r.Mounts(), r.Loops(), r.filterRules())
	for _, bridge := range []string{r.Bridge(), r.ownLink()} {
		if _, err := netlink.LinkByName(bridge); err == nil {
			left = append(left, "bridge "+bridge)
		}
	}
	return append(left, matches(
		"/sys/fs/cgroup/"+r.Cgroup(), "/sys/fs/cgroup/*/"+r.Cgroup(), r.RunDir(),
		r.Dir+"/pods/*", r.Dir+"/logs/*", r.Dir+"/runs/*", r.Dir+"/ipam/pods/*",
	)...)
}

// LeftOfPods lists what pods have left, or still have, while lifepod and its
// runtime run: everything that is made for a pod and not for the node.
func (r Root) LeftOfPods() []string {
	left := r.Mounts()
	for _, process := range r.Processes() {
		if strings.Contains(process, "containerd-shim") || strings.Contains(process, "/pause") {
			left = append(left, process)
		}
	}
	return append(left, matches(
		"/sys/fs/cgroup/"+r.Cgroup()+"/pod*", "/sys/fs/cgroup/"+r.Cgroup()+"/*/pod*", // v2
		"/sys/fs/cgroup/*/"+r.Cgroup()+"/pod*", "/sys/fs/cgroup/*/"+r.Cgroup()+"/*/pod*", // v1
		r.Dir+"/pods/*", r.Dir+"/logs/*", r.Dir+"/ipam/pods/*",
	)...)
}

func matches(patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			panic(err) // the patterns are right
		}
		all = append(all, found...)
	}
	return all
}

// Processes are those that run a program of this root, got a path of it as
// argument, or are in one of its cgroups.
func (r Root) Processes() []string {
	var found []string
	for _, pid := range AllProcesses() {
		if Ended(pid) {
			continue
		}
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		cgroups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		command := strings.ReplaceAll(string(arguments), "\x00", " ")
		if strings.HasPrefix(exe, r.Dir+"/") || strings.Contains(command+" ", r.Dir) ||
			strings.Contains(command, r.RunDir()) || strings.Contains(string(cgroups), r.Cgroup()) {
			found = append(found, fmt.Sprintf("process %d: %s", pid, command))
		}
	}
	return found
}

// Ended is true of a process that only waits for its parent to take note.
func Ended(pid int) bool {
	_, err := pidfd.Find(pid)
	return err != nil
}

// AllProcesses are those of the machine but the caller.
func AllProcesses() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Mounts are those in the root's folders, network namespaces included.
func (r Root) Mounts() []string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err)
	}
	var found []string
	for line := range strings.Lines(string(table)) {
		point := strings.Fields(line)[4]
		if strings.HasPrefix(point, r.Dir+"/") || strings.HasPrefix(point, r.RunDir()) {
			found = append(found, "mount "+point)
		}
	}
	return found
}

// Loops are the loop devices of files of this root.
func (r Root) Loops() []string {
	var found []string
	for _, link := range matches("/sys/block/loop*/loop/backing_file") {
		if file, err := os.ReadFile(link); err == nil && strings.HasPrefix(string(file), r.Dir+"/") {
			found = append(found, "loop device of "+strings.TrimSpace(string(file)))
		}
	}
	return found
}

// filterRules are packet filter rules that name this root. A subnet doesn't:
// another root may have it, once this one has ended.
func (r Root) filterRules() []string {
	var found []string
	for _, command := range [][]string{{"nft", "list", "ruleset"}, {"iptables-save"}} {
		rules, _ := exec.Command(command[0], command[1:]...).Output() // not every machine has both
		for line := range strings.Lines(string(rules)) {
			if strings.Contains(line, r.Hash()) {
				found = append(found, "rule "+strings.TrimSpace(line))
			}
		}
	}
	return found
}
