// Package csi gives pods the volumes of CSI drivers, and takes them back (A-CSI).
//
// The volumes of a pod are recorded on disk, in the kubelet's place and format: in the pod's
// folder before the driver is called, and beside the staged volume. So after a kill the next
// agent, or a kubelet, finds there what to unmount. Calls for one volume are serialised, those for
// different volumes run in parallel: a driver that hangs delays its own pods only.
//
// calls.go has the calls to the CSI drivers that have registered on this node (A-CSI-1), which
// stage, publish and measure the volumes of pods (A-CSI-3).
//
// Make a Registry with NewRegistry, give it to package node/devices as the handler of CSI plugins, tell
// Registry.Node of the Node, and have Run run. Drivers can be used before the API server knows
// of them, so that volumes are unmounted while it is away.
//
// Requests to drivers may have secrets in them: none is logged, nor part of an error.
//
// csinode.go writes what the drivers report of this node into its CSINode and Node objects
// (A-CSI-2). One goroutine writes it, one driver after the other, and retries what fails.
package csi
