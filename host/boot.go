package host

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/lifecycle"
)

// BootID is another one after each start of the machine.
func BootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the machine's boot ID: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Clock says how the wall clock stands to the clock that counts since the machine's
// start, which nobody can set. It is zero where that is not known.
func Clock() lifecycle.Clock {
	boot, err := BootID()
	var since unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &since) != nil {
		return lifecycle.Clock{}
	}
	return lifecycle.Clock{Boot: boot, Started: time.Now().Add(-time.Duration(since.Nano())).UTC()}
}
