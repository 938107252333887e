//go:build attack

package attack

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// testedMachine is what must be the same after an attack.
type testedMachine struct {
	root   string // of lifepod
	victim string // another tenant's pod's folder
	seen   *seenPods
	uid    types.UID // the victim's
}

// canaries are files of root's that nobody may change.
func (m testedMachine) canaries() []string {
	return []string{
		canary, "/etc/lifepod-canary", "/run/lifepod-canary", filepath.Join(filepath.Dir(m.root), "lifepod-canary"),
		filepath.Join(m.root, "lifepod-canary"), filepath.Join(m.root, "logs", "lifepod-canary"), filepath.Join(m.victim, "lifepod-canary"),
	}
}

func (m testedMachine) plant() error {
	for _, path := range m.canaries() {
		if err := os.WriteFile(path, []byte("root's own\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// state is what there is: a name and what it is like.
func (m testedMachine) state() (map[string]string, error) {
	state := map[string]string{}
	for _, path := range m.canaries() {
		content, err := os.ReadFile(path)
		state["canary "+path] = fmt.Sprintf("%q %v", content, err)
	}
	for _, dir := range []string{"/", "/bin", "/sbin", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local/bin", "/lib", "/boot", "/home", "/opt", "/root",
		"/var", "/var/lib", "/var/spool/cron", "/tmp", "/run", filepath.Dir(m.root), m.root} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil {
				state["file "+filepath.Join(dir, entry.Name())] = info.Mode().String()
			}
		}
	}
	for _, dir := range []string{"/etc", m.victim} {
		if err := tree(state, dir); err != nil {
			return nil, err
		}
	}
	sysctls(state)
	if err := kernel(state); err != nil {
		return nil, err
	}
	processes(state)
	return state, nil
}

// tree is each file below a folder, with its content.
func tree(state map[string]string, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			text += fmt.Sprintf(" %x %v", sha256.Sum256(content), err)
		}
		state["file "+path] = text
		return nil
	})
}

// sysctls are those that can be written, but for counters and what belongs to links, which come and go.
func sysctls(state map[string]string) {
	counts := regexp.MustCompile(`/kernel/(ns_last_pid|random/|sched_domain)|/net/ipv[46]/(conf|neigh)/veth`)
	_ = filepath.WalkDir("/proc/sys", func(path string, entry fs.DirEntry, err error) error { // what can't be read has no value
		readable := err == nil && !entry.IsDir() && !counts.MatchString(path)
		if info, err := entry.Info(); readable && err == nil && info.Mode()&0o200 != 0 {
			value, _ := os.ReadFile(path)
			state["sysctl "+path] = string(value)
		}
		return nil
	})
}

// kernel is mounts, links, addresses, routes, rules and the host's name.
func kernel(state map[string]string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		words := strings.Fields(line)
		state["mount "+words[4]] = strings.Join(words[3:6], " ")
	}
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, link := range links {
		addresses, _ := link.Addrs()
		state["link "+link.Name] = fmt.Sprint(link.Flags, addresses)
	}
	counters := regexp.MustCompile(`counter packets \d+ bytes \d+|expires \S+`)
	for _, command := range []string{"nft list ruleset", "ip route", "ip rule", "hostname"} {
		words := strings.Fields(command)
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
		rules := strings.FieldsFunc(counters.ReplaceAllString(string(out), ""), func(r rune) bool { return strings.ContainsRune(",{}\n\t", r) })
		for _, rule := range rules { // sets have no order
			// A chain's rules have lines of their own. When a Service is gone, kube-proxy empties its chain, and deletes
			// it half a minute later.
			if rule = strings.TrimSpace(rule); !strings.HasPrefix(rule, "chain ") {
				state[command+": "+rule] += "1"
			}
		}
	}
	return nil
}

// processes are how many there are of each command.
func processes(state map[string]string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if command, err := os.ReadFile(path); err == nil && len(command) > 0 { // it may have ended
			state[fmt.Sprintf("process %.200q", command)] += "1"
		}
	}
}

// differences are what two states don't have in common.
func differences(before, after map[string]string) (all []string) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			all = append(all, fmt.Sprintf("%s: %.200q, was %.200q", name, after[name], before[name]))
		}
	}
	return all
}
