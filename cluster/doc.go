// Package cluster is a whole Kubernetes in one process: etcd, the API server, the
// scheduler, the controllers and the node of this machine, with service traffic,
// cluster DNS and volumes. It puts together what the packages below it make, says
// when it is ready, and ends it in order.
//
// It is a module of its own, and a program of its own (cmd/lifepod-cluster) that
// lifepod carries and becomes: the API server's packages take memory by only being
// there, which lifepod run and lifepod agent are spared.
package cluster
