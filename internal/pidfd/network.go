package pidfd

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// InNetwork calls a function in the network of a process that has not ended: what it connects, and programs that it starts, are there.
func (id ID) InNetwork(do func() error) error {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", id.PID))
	if err != nil {
		return fmt.Errorf("enter the pod's network: %w", err)
	}
	defer network.Close()
	if now, err := Find(id.PID); err != nil || now != id { // another one may have the PID by now
		return fmt.Errorf("enter the pod's network: %w", ErrEnded)
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
