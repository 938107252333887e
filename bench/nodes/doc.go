// Command nodes measures simulated nodes of lifepod (lifepod sim nodes) against those of KWOK, on one real control plane and
// in turns: how fast pods become Ready on them, and what that takes of the processes of the nodes and of the API server.
//
// Pods are created by one client, so many at the same time as -creators says, and name their nodes: the scheduler has no part in it.
// A watch says when each is Ready. KWOK plays the stages that its own benchmark has ("fast"), which make a pod Ready by one
// status. Containers of lifepod start at once, too, but the pod takes its whole way: it is admitted, its sandbox and
// container are made and started by the rules of lifepod agent, and three events tell of it. The third column are pods of
// lifepod with an init container, a readiness probe, and a container that crashes once and is restarted.
//
// A round ends when nothing was written of its pods for quietTime. CPU time and writes are those from the first request to the
// end of the round; before the next one all pods and Nodes are deleted.
package main
