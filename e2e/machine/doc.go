// Package machine is what tests see from outside of a lifepod that they run: the
// program itself, and what a state folder has on this machine while it runs
// and must not leave when it has ended.
package machine
