package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// write PATH CONTENT: the file holds exactly CONTENT then, on disk.
func write(c *Call) error {
	c.Flags.SetInterspersed(false)
	args, err := c.Parse("PATH CONTENT", 2, 2)
	if err != nil {
		return err
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	_, err = file.WriteString(args[1])
	return errors.Join(err, file.Sync(), file.Close())
}

// ln [-sf] TARGET LINK.
func ln(c *Call) error {
	symbolic := c.Flags.BoolP("symbolic", "s", false, "a symbolic link")
	force := c.Flags.BoolP("force", "f", false, "replace LINK")
	args, err := c.Parse("[-sf] TARGET LINK", 2, 2)
	if err != nil {
		return err
	}
	if *force {
		if err := os.Remove(args[1]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if *symbolic {
		return os.Symlink(args[0], args[1])
	}
	return os.Link(args[0], args[1])
}

// readlink PATH.
func readlink(c *Call) error {
	args, err := c.Parse("PATH", 1, 1)
	if err != nil {
		return err
	}
	target, err := os.Readlink(args[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, target)
	return err
}

// fileTypes are what stat's %F says.
var fileTypes = map[fs.FileMode]string{
	0: "regular file", fs.ModeDir: "directory", fs.ModeSymlink: "symbolic link", fs.ModeNamedPipe: "fifo", fs.ModeSocket: "socket",
	fs.ModeDevice: "block special file", fs.ModeDevice | fs.ModeCharDevice: "character special file",
}

// stat [-L] [-c FORMAT] PATH….
func stat(c *Call) error {
	format := c.Flags.StringP("format", "c", "%n: %F, mode %a, uid %u, gid %g, %s bytes", "what to print")
	follow := c.Flags.BoolP("dereference", "L", false, "follow links")
	paths, err := c.Parse("[-L] [-c FORMAT] PATH…", 1, -1)
	if err != nil {
		return err
	}
	read := os.Lstat
	if *follow {
		read = os.Stat
	}
	for _, path := range paths {
		info, err := read(path)
		if err != nil {
			return err
		}
		raw := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(c.Stdout, strings.NewReplacer("%n", path, "%s", strconv.FormatInt(info.Size(), 10),
			"%a", strconv.FormatUint(uint64(raw.Mode&0o7777), 8), "%F", fileTypes[info.Mode().Type()],
			"%u", fmt.Sprint(raw.Uid), "%g", fmt.Sprint(raw.Gid)).Replace(*format))
	}
	return nil
}
