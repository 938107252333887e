// Package execprocess finds the processes that were started in a container from
// outside (CRI Exec), and ends one with all that it started. A runtime lets such
// a process run on when its client has gone; nobody would ever end it.
//
// Package worker/command ends the commands of probes and hooks in a way of its own: it is told when one is given up,
// not when a client has gone, and leaves nothing of it, not even what a command that has ended by itself started.
//
// CRI doesn't tell the PID of such a process. It is recognised by its parent, which is
// outside of the container's cgroup, and by being new.
package execprocess
