// Package controlplane starts a Kubernetes control plane for tests and measurements.
//
//	plane, err := controlplane.Start(ctx)
//	defer plane.Close()
//	client, err := kubernetes.NewForConfig(plane.RESTConfig())
//	kubeconfig, err := plane.NodeKubeconfig("node-1") // as the kubelet of node-1
//
// It is that of lifepod up, without this machine's node and what serves pods: one process, which
// `make build` has built. What is left are the API server with its etcd, the scheduler, the
// controllers, and what machines need to join.
//
// # Separate parts
//
// Measurements compare lifepod with Kubernetes' own programs: StartParts starts etcd,
// kube-apiserver, kube-scheduler and kube-controller-manager, unmodified, as processes of their
// own. They are set up as kubeadm would: Node and RBAC authorization, NodeRestriction, client
// certificates of one authority, bootstrap tokens, signing of certificate requests, the
// aggregation layer. What differs serves speed: etcd does not sync its data to disk, nobody elects
// a leader, the controllers work under one identity, which may do everything, as the scheduler
// may, and no part but the API server listens on a port.
//
// `make controlplane` builds them (package build below, versions pinned in cluster/go.mod) into
// .cache/controlplane, where other targets put programs that tests use as well: drivers, kubelet,
// metrics-server, jobset.
//
// # Other versions
//
// $LIFEPOD_CONTROLPLANE names the folder of other parts, as those that
// `go run ./e2e/controlplane/build -kubernetes v1.36.3` built. Start starts them.
//
// # Lifetime
//
// Close ends all processes and removes all files. When the process that called Start dies without
// Close, they die with it; only folders are left, and an interface on a machine without a default
// route.
package controlplane
