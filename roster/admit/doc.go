// Package admit says whether a node has room for a pod, which pods have to go to
// make room for a critical one, and whether a pod may be resized in place
// (contract A-ADM, A-ACT-15, B-PRE). Order, reasons and messages are those of
// Kubernetes 1.37.2. It is pure: pods and the Node come in, an Answer goes out.
//
// Decide and Resize are the whole of admission. Decide goes, in the order of
// A-ADM-1, through what the machine enforces (check.go: sysctls, operating
// system, groups policy), what the node has (Failures), preemption (Victims), AppArmor and
// declared features. A caller that preempts stops the victims all at once, waits
// until nothing of them is held any longer, and asks again (B-PRE-2).
//
// # The other pods
//
// Others are the pods that hold something of the node: admitted, and not yet
// gone with all containers, the sandbox and the cgroup. Their specs have what is
// allocated to them; where a status tells of resources, too, the greater counts,
// so that a pod in the middle of a resize holds what it had and what it gets.
package admit
