// Package execprocess finds the processes that were started in a container from
// outside (CRI Exec), and ends one with all that it started. A runtime lets such
// a process run on when its client has gone; nobody would ever end it.
//
// Commands of probes and hooks are ended by package worker/handler. It has no client that may go: it ends a
// command when its time is up, and also what a command that has ended has started.
//
// CRI doesn't tell the PID of such a process. It is recognised by its parent, which is
// outside of the container's cgroup, and by being new.
package execprocess
