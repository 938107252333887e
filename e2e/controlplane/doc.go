// Package controlplane starts a Kubernetes control plane of real parts for tests
// and measurements: etcd, kube-apiserver, kube-scheduler and
// kube-controller-manager, unmodified, as processes on this machine, with kubectl
// to talk to them. Nothing is simulated but the cluster's size: one of each.
//
//	plane, err := controlplane.Start(ctx, controlplane.Config{})
//	defer plane.Close()
//	client, err := kubernetes.NewForConfig(plane.RESTConfig())
//	kubeconfig, err := plane.NodeKubeconfig("node-1") // as the kubelet of node-1
//
// It is set up as kubeadm would: Node and RBAC authorization, NodeRestriction,
// client certificates of one authority, bootstrap tokens, signing of certificate
// requests, the aggregation layer. What differs serves speed: etcd does not
// sync its data to disk, nobody elects a leader, the controllers work under one
// identity, which may do everything, as the scheduler may, and no part but the API
// server listens on a port.
//
// The parts are built by `make controlplane` (package build below, versions
// pinned in cluster/go.mod) into .cache/controlplane.
// `make drivers` builds drivers of devices beside them, for tests of resource claims.
//
// # Other versions
//
// $LIFEPOD_CONTROLPLANE names the folder of other parts, as those that
// `go run ./e2e/controlplane/build -kubernetes v1.35.4` built. They run with no feature
// gates but those of $LIFEPOD_CONTROLPLANE_GATES.
//
// # Lifetime
//
// Close ends all processes and removes all files. When the process that
// called Start dies without Close, its parts die with it; only the folder is left.
package controlplane
