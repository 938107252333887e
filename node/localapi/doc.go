// Package localapi has the gRPC services that programs of this machine ask at sockets: PodResources, which devices, CPUs
// and memory containers have, and PodsAPI, which pods there are.
//
// server.go tells other programs of the node, at a unix socket, which devices, CPUs and memory each container has:
// the pod resources API (v1, and List of v1alpha1), which exporters of metrics and topology use.
//
// localapi.go serves APIs at sockets of the node, for other programs on it.
//
// podsapi_server.go is the kubelet's API of pods for other programs on the node (KEP-4188): which pods there
// are, as they are now, without the API server.
package localapi
