// Package podsapi is the kubelet's API of pods for other programs on the node (KEP-4188): which pods there
// are, as they are now, without the API server.
package podsapi
