package kernellog

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Killed is a process that the kernel has killed because a cgroup's memory was used up.
type Killed struct {
	Process string // its name
	PID     int    // on the machine
}

// limitReached is what Linux says from 5.0 on: in which cgroup the process was.
var limitReached = regexp.MustCompile(`oom-kill:constraint=.*,task_memcg=(.*),task=(.*),pid=([0-9]+),uid=`)

// LastIn is the process of a container that was killed last; false: the kernel's log has none, or
// can't be read.
func LastIn(containerID string) (Killed, bool) {
	messages, err := Messages()
	if err != nil {
		return Killed{}, false
	}
	return InContainer(messages, containerID)
}

// InContainer is the process of a container that was killed last; false: the messages have none.
func InContainer(messages []string, containerID string) (Killed, bool) {
	for _, message := range slices.Backward(messages) {
		found := limitReached.FindStringSubmatch(message)
		if found == nil || !isOf(found[1], containerID) {
			continue
		}
		pid, err := strconv.Atoi(found[3])
		return Killed{Process: found[2], PID: pid}, err == nil
	}
	return Killed{}, false
}

// isOf says whether a cgroup is a container's, or below it: it is named after the container's ID,
// by systemd with a prefix and a suffix.
func isOf(cgroup, containerID string) bool {
	for containerID != "" && cgroup != "" && cgroup != "/" && cgroup != "." {
		name := strings.TrimSuffix(path.Base(cgroup), ".scope")
		if name == containerID || strings.HasSuffix(name, "-"+containerID) {
			return true
		}
		cgroup = path.Dir(cgroup)
	}
	return false
}
