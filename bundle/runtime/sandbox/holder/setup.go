package holder

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// setUp sets what takes a text: the hostname, and sysctls. Its thread joins the namespaces that they
// belong to, in the user namespace of the machine; it never comes back, but ends.
func (h *Holder) setUp() error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- errors.Join(h.setHostname(), h.setSysctls())
	}()
	return <-done
}

func (h *Holder) setHostname() error {
	if h.plan.hostname == "" {
		return nil
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/uts", h.PID))
	if err != nil {
		return fmt.Errorf("set the hostname: %w", err)
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("set the hostname: join its namespace: %w", err)
	}
	if err := unix.Sethostname([]byte(h.plan.hostname)); err != nil {
		return fmt.Errorf("set the hostname: %w", err)
	}
	return nil
}

func (h *Holder) setSysctls() error {
	if len(h.plan.sysctls) == 0 {
		return nil
	}
	if err := unix.Setns(int(h.network.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("set sysctls: join the network namespace: %w", err)
	}
	for _, s := range h.plan.sysctls {
		file, err := os.OpenFile(s.path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("set sysctl %s: %w", s.key, err)
		}
		_, err = file.WriteString(s.value)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("set sysctl %s: %w", s.key, err)
		}
	}
	return nil
}
