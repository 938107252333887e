// Package output keeps the last lines of a container that ends at once.
//
// containerd opens the pipe of a container's output in a goroutine of its own. When it is told that the
// container has ended it gives up on a pipe that is not open yet, and what is in there is lost: "reading
// from a closed fifo", it says in its log. On a busy machine that goroutine may get its turn only after a
// container has begun, written a line and ended. Before it gives up, containerd asks for the container's
// state; so the answer waits until the output has been read.
package output
