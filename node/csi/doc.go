// Package csi gives pods the volumes of CSI drivers, and takes them back (A-CSI).
//
// What a pod has is on disk, where the kubelet has it and in its form: a record in the pod's
// folder before the driver is called, and one beside where the volume is staged. Nothing else is
// remembered: whoever comes after a kill, a kubelet too, finds there what has to be taken back.
// What is done for one volume is done one after the other, for different volumes side by side: a
// driver that hangs holds up its own pods only.
//
// calls.go has the CSI drivers that have registered on this node (A-CSI-1): what they
// say of the node is told to the cluster, in its CSINode and Node objects (A-CSI-2), and the
// volumes of pods are staged, published and measured by calls to them (A-CSI-3).
//
// Make a Registry with NewRegistry, give it to package node/devices as the handler of CSI plugins, tell
// Registry.Node of the Node, and have Run run. Drivers can be used before the API server knows
// of them, so that volumes are unmounted while it is away.
//
// Requests to drivers may have secrets in them: none is logged, nor part of an error.
//
// csinode.go has the API say what CSI drivers say of this node, in its CSINode and Node
// objects (A-CSI-2). One goroutine writes all of it, one driver after the other, however often
// it takes.
package csi
