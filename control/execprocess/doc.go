// Package execprocess finds the processes that were started in a container from
// outside (CRI Exec), and ends one with all that it started. A runtime lets such
// a process run on when its client has gone; nobody would ever end it.
//
// CRI doesn't tell the PID of such a process. It is recognised by its parent, which is
// outside of the container's cgroup, and by being new.
package execprocess
