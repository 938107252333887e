// Package podcgroup makes and removes the cgroup of a pod and computes what
// goes into it: QoS class, CPU shares and quota, memory limit, OOM score
// (contract A-API-3, A-CRI-6 to A-CRI-10).
//
// The layout is Kubernetes': a parent, below it burstable and besteffort, and
// the pods instead of their class, Guaranteed ones directly below the
// parent. The runtime puts the containers below the pod. Cgroup v1, v2 and
// hybrid hosts are supported, with the cgroupfs and the systemd driver.
package podcgroup
