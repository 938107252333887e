// Command groups measures how long a JobSet's pods take to restart as one, with a real control plane and the real JobSet
// controller (docs/groups.md): on nodes of lifepod agent, on the same nodes with JobSet's own agent in each pod, and with
// -kubelet on a node of the kubelet with such agents, which has as many pods as the others together.
//
// A worker waits at a pipe until it is told to exit, so that it needs no CPU. The time begins when one is told to. It
// ends when a watch shows that all pods of the JobSet run in the next attempt. The API server's audit log says what nodes and
// agents write in a restart.
package main
