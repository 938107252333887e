// Package guest finds the processes that were started in a container from
// outside (CRI Exec), and ends one with all that it started. A runtime lets such
// a process run on when its client has gone; nobody would ever end it.
//
// CRI says nothing of a guest's PID. A guest is recognised by its parent, which is
// outside of the container's cgroup, and by being new.
package guest
