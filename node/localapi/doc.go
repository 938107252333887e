// Package localapi serves gRPC APIs to programs on this machine, at unix sockets: PodResources (the devices, CPUs and
// memory of containers) and PodsAPI (the pods).
//
// server.go is the pod resources API (v1, and List of v1alpha1), which exporters of metrics and topology use.
//
// podsapi_server.go is the kubelet's API of pods (KEP-4188): the node's pods as they are now, without the API server.
package localapi
