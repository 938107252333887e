package toolbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func basename(c *Call) int { return c.path(filepath.Base) }

func dirname(c *Call) int { return c.path(filepath.Dir) }

func (c *Call) path(part func(string) string) int {
	if len(c.Args) != 1 {
		return c.Fail(Usage, errors.New("want PATH"))
	}
	fmt.Fprintln(c.Stdout, part(c.Args[0]))
	return 0
}

func pwd(c *Call) int {
	dir, err := os.Getwd()
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprintln(c.Stdout, dir)
	return 0
}

func hostname(c *Call) int {
	name, err := os.Hostname()
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprintln(c.Stdout, name)
	return 0
}

func nproc(c *Call) int {
	fmt.Fprintln(c.Stdout, runtime.NumCPU())
	return 0
}

// uname [-asnrm].
func uname(c *Call) int {
	flags := c.Flags("[-asnrm]")
	all := flags.BoolP("all", "a", false, "everything")
	shown := []*bool{
		flags.BoolP("kernel-name", "s", false, "kernel name"), flags.BoolP("nodename", "n", false, "host name"),
		flags.BoolP("kernel-release", "r", false, "kernel release"), flags.BoolP("machine", "m", false, "machine"),
	}
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	var names unix.Utsname
	if err := unix.Uname(&names); err != nil {
		return c.Fail(1, err)
	}
	if !slices.ContainsFunc(shown, func(show *bool) bool { return *show }) {
		*shown[0] = true
	}
	var out []string
	for i, name := range [][65]byte{names.Sysname, names.Nodename, names.Release, names.Machine} {
		if *shown[i] || *all {
			out = append(out, unix.ByteSliceToString(name[:]))
		}
	}
	fmt.Fprintln(c.Stdout, strings.Join(out, " "))
	return 0
}

// id [-ugGn]: who this process is; names as far as /etc/passwd has them.
func id(c *Call) int {
	flags := c.Flags("[-ugGn]")
	onlyUser := flags.BoolP("user", "u", false, "the user")
	onlyGroup := flags.BoolP("group", "g", false, "the group")
	onlyGroups := flags.BoolP("groups", "G", false, "all groups")
	names := flags.BoolP("name", "n", false, "names instead of numbers")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	groups, err := os.Getgroups()
	if err != nil {
		return c.Fail(1, err)
	}
	uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	gids := []string{gid}
	for _, group := range groups {
		if g := strconv.Itoa(group); g != gid {
			gids = append(gids, g)
		}
	}
	show := func(number string, name func(string) string) string {
		if *names {
			return name(number)
		}
		return number
	}
	switch {
	case *onlyUser:
		fmt.Fprintln(c.Stdout, show(uid, userName))
	case *onlyGroup:
		fmt.Fprintln(c.Stdout, show(gid, groupName))
	case *onlyGroups:
		for i := range gids {
			gids[i] = show(gids[i], groupName)
		}
		fmt.Fprintln(c.Stdout, strings.Join(gids, " "))
	default:
		for i, g := range gids {
			gids[i] = fmt.Sprintf("%s(%s)", g, groupName(g))
		}
		fmt.Fprintf(c.Stdout, "uid=%s(%s) gid=%s groups=%s\n", uid, userName(uid), gids[0], strings.Join(gids, ","))
	}
	return 0
}

// kill [-SIGNAL] PID….
func kill(c *Call) int {
	args, number := c.Args, syscall.SIGTERM
	if len(args) > 1 && args[0] == "-s" {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		var err error
		if number, err = ParseSignal(args[0][1:]); err != nil {
			return c.Fail(Usage, err)
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Fail(Usage, errors.New("want [-SIGNAL] PID…"))
	}
	code := 0
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err == nil {
			err = syscall.Kill(pid, number)
		}
		if err != nil {
			code = c.Fail(1, fmt.Errorf("%s: %w", arg, err))
		}
	}
	return code
}

// ParseSignal reads "TERM", "SIGTERM", "15" and "RTMIN+3".
func ParseSignal(s string) (syscall.Signal, error) {
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

// ps prints every process: PID, parent, state and command line.
func ps(c *Call) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return c.Fail(1, err)
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
	return 0
}
