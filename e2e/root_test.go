package e2e

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is one state folder of lifepod.
type root struct{ dir string }

// newRoot is a state folder for one test. When the test ends, nothing may be
// left of it.
func newRoot(t *testing.T) *root {
	t.Helper()
	dir, err := os.MkdirTemp("", "lp-")
	if err != nil {
		t.Fatal(err)
	}
	r := &root{dir: dir}
	t.Cleanup(func() {
		for _, left := range r.left() {
			t.Errorf("left behind: %s", left)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return r
}

// hash is what tells this root's names in the kernel from another's.
func (r *root) hash() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(r.dir)))[:8] }

func (r *root) runDir() string { return "/run/lifepod-" + r.hash() }
func (r *root) bridge() string { return "lp-" + r.hash() }
func (r *root) cgroup() string { return "lifepod-" + r.hash() }

// left lists what a lifepod of this root has left on the machine, the pods' logs
// included: every test fails that leaves something (B-GC-5, B-FIN-6).
func (r *root) left() []string {
	left := slices.Concat(r.processes(), r.mounts(), r.filterRules())
	if _, err := net.InterfaceByName(r.bridge()); err == nil {
		left = append(left, "bridge "+r.bridge())
	}
	for _, pattern := range []string{
		"/sys/fs/cgroup/" + r.cgroup(), "/sys/fs/cgroup/*/" + r.cgroup(), r.runDir(),
		r.dir + "/pods/*", r.dir + "/logs/*", r.dir + "/runs/*", r.dir + "/ipam/pods/*",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			panic(err) // the patterns are right
		}
		left = append(left, found...)
	}
	return left
}

// processes are those that run a program of this root, got a path of it as
// argument, or are in one of its cgroups.
func (r *root) processes() []string {
	var found []string
	for _, pid := range allProcesses() {
		if ended(pid) {
			continue
		}
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		cgroups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		command := strings.ReplaceAll(string(arguments), "\x00", " ")
		if strings.HasPrefix(exe, r.dir+"/") || strings.Contains(command+" ", r.dir) ||
			strings.Contains(command, r.runDir()) || strings.Contains(string(cgroups), r.cgroup()) {
			found = append(found, fmt.Sprintf("process %d: %s", pid, command))
		}
	}
	return found
}

// ended is true of a process that only waits for its parent to take note.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

func allProcesses() []int {
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

// mounts are those in the root's folders, network namespaces included.
func (r *root) mounts() []string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err)
	}
	var found []string
	for line := range strings.Lines(string(table)) {
		point := strings.Fields(line)[4]
		if strings.HasPrefix(point, r.dir+"/") || strings.HasPrefix(point, r.runDir()) {
			found = append(found, "mount "+point)
		}
	}
	return found
}

// filterRules are packet filter rules that name this root. A subnet doesn't:
// another root may have it, once this one has ended.
func (r *root) filterRules() []string {
	var found []string
	for _, command := range [][]string{{"nft", "list", "ruleset"}, {"iptables-save"}} {
		rules, _ := exec.Command(command[0], command[1:]...).Output() // not every machine has both
		for line := range strings.Lines(string(rules)) {
			if strings.Contains(line, r.hash()) {
				found = append(found, "rule "+strings.TrimSpace(line))
			}
		}
	}
	return found
}
