package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func lookPath(name string) (string, error) { return exec.LookPath(name) }

// write PATH CONTENT: the file holds exactly CONTENT then, on disk.
func write(c *Call) int {
	flags := c.Flags("[-a] PATH CONTENT")
	add := flags.BoolP("append", "a", false, "add to the file")
	flags.SetInterspersed(false)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	if flags.NArg() != 2 {
		return c.Fail(Usage, errors.New("want PATH CONTENT"))
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if *add {
		mode = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	file, err := os.OpenFile(flags.Arg(0), mode, 0o666)
	if err != nil {
		return c.Fail(1, err)
	}
	_, err = file.WriteString(flags.Arg(1))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return c.Fail(1, err)
	}
	return 0
}

// check PATH CONTENT: 1 and both on standard error if the file differs.
func check(c *Call) int {
	if len(c.Args) != 2 {
		return c.Fail(Usage, errors.New("want PATH CONTENT"))
	}
	data, err := os.ReadFile(c.Args[0])
	if err != nil {
		return c.Fail(1, err)
	}
	if got, want := string(data), c.Args[1]; got != want {
		return c.Fail(1, fmt.Errorf("%s holds %q, not %q", c.Args[0], got, want))
	}
	return 0
}

// ln [-sf] TARGET LINK.
func ln(c *Call) int {
	flags := c.Flags("[-sf] TARGET LINK")
	symbolic := flags.BoolP("symbolic", "s", false, "a symbolic link")
	force := flags.BoolP("force", "f", false, "replace LINK")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	if flags.NArg() != 2 {
		return c.Fail(Usage, errors.New("want TARGET LINK"))
	}
	if *force {
		if err := os.Remove(flags.Arg(1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c.Fail(1, err)
		}
	}
	link := os.Link
	if *symbolic {
		link = os.Symlink
	}
	if err := link(flags.Arg(0), flags.Arg(1)); err != nil {
		return c.Fail(1, err)
	}
	return 0
}

// readlink [-f] PATH.
func readlink(c *Call) int {
	flags := c.Flags("[-f] PATH")
	follow := flags.BoolP("canonicalize", "f", false, "follow every link")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	if flags.NArg() != 1 {
		return c.Fail(Usage, errors.New("want PATH"))
	}
	read := os.Readlink
	if *follow {
		read = func(path string) (string, error) {
			absolute, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			return filepath.EvalSymlinks(absolute)
		}
	}
	target, err := read(flags.Arg(0))
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprintln(c.Stdout, target)
	return 0
}

// stat [-L] [-c FORMAT] PATH….
func stat(c *Call) int {
	flags := c.Flags("[-L] [-c FORMAT] PATH…")
	format := flags.StringP("format", "c", "%n: %F, mode %a, uid %u, gid %g, %s bytes", "what to print")
	follow := flags.BoolP("dereference", "L", false, "follow links")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	read := os.Lstat
	if *follow {
		read = os.Stat
	}
	for _, path := range flags.Args() {
		info, err := read(path)
		if err != nil {
			return c.Fail(1, err)
		}
		fmt.Fprintln(c.Stdout, describe(path, info).Replace(*format))
	}
	return 0
}

// describe knows the directives of stat -c.
func describe(path string, info fs.FileInfo) *strings.Replacer {
	raw := info.Sys().(*syscall.Stat_t)
	uid, gid := strconv.Itoa(int(raw.Uid)), strconv.Itoa(int(raw.Gid))
	return strings.NewReplacer("%n", path, "%s", strconv.FormatInt(info.Size(), 10),
		"%a", strconv.FormatUint(uint64(raw.Mode&0o7777), 8), "%A", info.Mode().String(), "%F", kind(info.Mode()),
		"%u", uid, "%g", gid, "%U", userName(uid), "%G", groupName(gid),
		"%i", strconv.FormatUint(raw.Ino, 10), "%h", strconv.FormatUint(uint64(raw.Nlink), 10), //nolint:unconvert // 32 bits on arm64
		"%d", strconv.FormatUint(raw.Dev, 10), "%Y", strconv.FormatInt(info.ModTime().Unix(), 10))
}

func kind(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "regular file"
	case fs.ModeDir:
		return "directory"
	case fs.ModeSymlink:
		return "symbolic link"
	case fs.ModeNamedPipe:
		return "fifo"
	case fs.ModeSocket:
		return "socket"
	}
	return "device"
}

func userName(uid string) string {
	if found, err := user.LookupId(uid); err == nil {
		return found.Username
	}
	return uid
}

func groupName(gid string) string {
	if found, err := user.LookupGroupId(gid); err == nil {
		return found.Name
	}
	return gid
}
