package run

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// LiveUsable says whether files are a terminal that can show a view, and that this process may use: that
// of a shell's background job is another's.
func LiveUsable(in, out *os.File, termName string) bool {
	return termName != "" && termName != "dumb" && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) && foreground(in)
}

// foreground says whether this process is of the job that has the terminal.
func foreground(terminal *os.File) bool {
	job, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && job == unix.Getpgrp()
}
