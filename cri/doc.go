// Package cri speaks to a container runtime through CRI v1: the connection, the
// stream of container events, a snapshot of one pod, and what an error of a call
// means. It turns the runtime's words into facts of package lifecycle and
// decides nothing.
//
// client.go has the deadline of each effect, and how often the runtime is asked for the pod.
// They are pure, and real and simulated containers share them.
package cri
