//go:build cgo

package container

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/system"
)

// takeoverMost is how often, a millisecond apart, a thread is looked for that takes its leader's place.
const takeoverMost = 100

// statusOf is the container's status. If a process of several threads executes a program in another than its first thread, the first
// is a zombie until the other has taken its place. Libcontainer, which looks at that one alone, says that the container has stopped.
func statusOf(container *libcontainer.Container) (libcontainer.Status, error) {
	for range takeoverMost {
		status, err := container.Status()
		if err != nil || status != libcontainer.Stopped {
			return status, err
		}
		state, err := container.State()
		if err != nil || !hasLiveThread(state.InitProcessPid, state.InitProcessStartTime) {
			return status, err
		}
		time.Sleep(time.Millisecond)
	}
	return container.Status()
}

// hasLiveThread says whether any thread lives of the process with that number that began at that time, in ticks of the clock since
// the boot.
func hasLiveThread(pid int, began uint64) bool {
	leader, err := system.Stat(pid)
	if err != nil || leader.StartTime != began {
		return false
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // else it has ended
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil && id != pid && lives(id) {
			return true
		}
	}
	return lives(pid) // one of them may just have taken its place
}

func lives(thread int) bool {
	stat, err := system.Stat(thread)
	return err == nil && stat.State != system.Zombie && stat.State != system.Dead
}
