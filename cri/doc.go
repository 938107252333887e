// Package cri speaks to a container runtime through CRI v1: the connection, the
// stream of container events, a snapshot of one pod, and what an error of a call
// means. It turns the runtime's words into facts of package lifecycle and
// decides nothing.
//
// deadline.go says how long what a pod's machine asks for may take, and how often the
// pod is looked at. It is pure: lives on real containers and simulated ones have the same
// deadlines.
package cri
