// Command up measures lifepod up, a whole Kubernetes in one process, beside the
// separate programs that it is made of (etcd, kube-apiserver, kube-scheduler,
// kube-controller-manager and the kubelet), in turns on one machine: how soon it is
// there, and what it takes of the machine. The container runtime
// is the same for both and is not counted. Both have the disk synced before they answer.
package main
