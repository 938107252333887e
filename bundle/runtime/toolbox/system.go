package toolbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
)

func hostname(c *Call) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, name)
	return err
}

// env [NAME=VALUE…] [COMMAND…].
func env(c *Call) error {
	c.Flags.SetInterspersed(false)
	args, err := c.Parse("[NAME=VALUE…] [COMMAND…]", 0, -1)
	if err != nil {
		return err
	}
	vars := os.Environ()
	for len(args) > 0 && strings.Contains(args[0], "=") {
		vars, args = append(vars, args[0]), args[1:]
	}
	if len(args) == 0 {
		_, err := fmt.Fprintln(c.Stdout, strings.Join(vars, "\n"))
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		fmt.Fprintf(c.Stderr, "env: %v\n", err)
		return Exit(127)
	}
	return syscall.Exec(path, args, vars)
}

// id [-ugG]: who this process is.
func id(c *Call) error {
	onlyUser := c.Flags.BoolP("user", "u", false, "the user")
	onlyGroup := c.Flags.BoolP("group", "g", false, "the group")
	onlyGroups := c.Flags.BoolP("groups", "G", false, "all groups")
	if _, err := c.Parse("[-ugG]", 0, 0); err != nil {
		return err
	}
	more, err := os.Getgroups()
	if err != nil {
		return err
	}
	uid, gid := os.Geteuid(), os.Getegid()
	groups := slices.Concat([]int{gid}, slices.DeleteFunc(more, func(g int) bool { return g == gid }))
	all := strings.Trim(fmt.Sprint(groups), "[]")
	switch {
	case *onlyUser:
		_, err = fmt.Fprintln(c.Stdout, uid)
	case *onlyGroup:
		_, err = fmt.Fprintln(c.Stdout, gid)
	case *onlyGroups:
		_, err = fmt.Fprintln(c.Stdout, all)
	default:
		_, err = fmt.Fprintf(c.Stdout, "uid=%d gid=%d groups=%s\n", uid, gid, strings.ReplaceAll(all, " ", ","))
	}
	return err
}

// ps prints every process: PID, parent, state and command line.
func ps(c *Call) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout, "  PID  PPID S COMMAND")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		open, end := bytes.IndexByte(status, '('), bytes.LastIndexByte(status, ')')
		fields := strings.Fields(string(status[end+1:]))
		command, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		line := strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))
		if line == "" {
			line = "[" + string(status[open+1:end]) + "]"
		}
		fmt.Fprintf(c.Stdout, "%5d %5s %s %s\n", pid, fields[1], fields[0], line)
	}
	return nil
}

// eat-memory SIZE: uses every page of it and holds it.
func eatMemory(c *Call) error {
	c.EndingFlags()
	args, err := c.Parse("SIZE", 1, 1)
	if err != nil {
		return err
	}
	size, err := humanize.ParseBytes(args[0])
	if err != nil {
		return Usage(err)
	}
	eaten := make([]byte, size)
	for i := 0; i < len(eaten); i += os.Getpagesize() {
		eaten[i] = 1
	}
	fmt.Fprintf(c.Stdout, "eaten %s\n", args[0])
	time.Sleep(forever)
	runtime.KeepAlive(eaten)
	return nil
}
