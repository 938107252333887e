package pidfd

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KillChildren kills the children of a shim that is to be killed itself at once afterwards: of a
// container the first process, with which all its others end, or, with the host's PIDs, those that
// the shim has adopted. A shim that is killed leaves its containers running: nobody
// would end them any more.
func (p *Process) KillChildren() {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.PID)) // the pattern is right
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread, or the process, has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended by itself
			}
		}
	}
}
