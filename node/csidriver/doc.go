// Package csidriver has the CSI drivers that have registered on this node (A-CSI-1): what they
// say of the node is told to the cluster, in its CSINode and Node objects (A-CSI-2), and the
// volumes of pods are staged, published and measured by calls to them (A-CSI-3).
//
// Make a Registry with New, give it to package node/plugins as the handler of CSI plugins, tell
// Registry.Node of the Node, and have Run run. Drivers can be used before the API server knows
// of them, so that volumes are unmounted while it is away.
//
// Requests to drivers may have secrets in them: none is logged, nor part of an error.
package csidriver
