// Package output keeps the last lines of a container that ends at once.
//
// containerd opens the pipe of a container's output in a goroutine. When the container has ended, containerd gives up
// on a pipe that is not open yet. What is in the pipe is lost then: "reading from a closed fifo", says its log. On a
// busy machine the goroutine may get its turn only after the container has begun, written a line and ended. Before
// containerd gives up, it asks for the container's state. So the answer waits until the output has been read.
package output
