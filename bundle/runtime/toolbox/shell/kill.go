package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/interp"
)

// kill [-SIGNAL] PID….
func kill(hc interp.HandlerContext, args []string) error {
	signal := syscall.SIGTERM
	if len(args) > 1 && args[0] == "-s" {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		var err error
		if signal, err = parseSignal(args[0][1:]); err != nil {
			fmt.Fprintf(hc.Stderr, "kill: %v\n", err)
			return interp.ExitStatus(2)
		}
		args = args[1:]
	}
	var status error
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err != nil {
			err = errors.New("want a process ID, which $! is not")
		} else {
			err = syscall.Kill(pid, signal)
		}
		if err != nil {
			fmt.Fprintf(hc.Stderr, "kill: %s: %v\n", arg, err)
			status = interp.ExitStatus(1)
		}
	}
	return status
}

// parseSignal reads "TERM", "SIGTERM", "15" and "RTMIN+3".
func parseSignal(s string) (syscall.Signal, error) {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n <= 64 {
		return syscall.Signal(n), nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	if n := unix.SignalNum("SIG" + name); n != 0 {
		return n, nil
	}
	if offset, found := strings.CutPrefix(name, "RTMIN"); found {
		n, err := strconv.Atoi("0" + strings.TrimPrefix(offset, "+"))
		if err == nil && n <= 30 {
			return syscall.Signal(34 + n), nil
		}
	}
	return 0, fmt.Errorf("signal %q is not known", s)
}
