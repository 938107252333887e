// Package command runs a command in a container that runs, through CRI's
// ExecSync, as exec probes and exec hooks need it. A command that is given up
// leaves no process in the container: the runtime kills only the one it
// started, its children are found and killed here.
package command
