// Package netns works in the networks of processes.
package netns

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// Do calls a function in the network of a process that has not ended: what it connects, and programs that it starts, are there.
func Do(process pidfd.ID, do func() error) error {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", process.PID))
	if err != nil {
		return fmt.Errorf("enter the pod's network: %w", err)
	}
	defer network.Close()
	if now, err := pidfd.Find(process.PID); err != nil || now != process { // another one may have the PID by now
		return fmt.Errorf("enter the pod's network: %w", pidfd.ErrEnded)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}
