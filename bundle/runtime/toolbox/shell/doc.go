// Package shell is the toolbox's sh: mvdan.cc/sh, plus what a shell needs to be
// process 1 of a container, which that library leaves out: traps of signals,
// an interruptible wait, kill, exec that replaces the process.
//
// As POSIX has it, a trapped signal that arrives while a command runs in the
// foreground is acted on when that command is done; `wait` returns at once.
// A signal without a trap ends the shell with 128 plus its number (as process
// 1 too, where other shells ignore it) and is passed on to its children.
// Traps belong to the shell itself: in a subshell they are neither set nor run.
//
// With a terminal as its input, or -i, it is interactive: it prompts, and Ctrl-C ends
// the line or what runs, with what is in the background, but not the shell.
//
// A subshell isn't a process, and $! no process ID: wait knows it, kill doesn't. When
// the shell ends or is replaced by exec, the subshells in its background are gone, while
// programs that they started go on. $0 isn't the script's name.
package shell
