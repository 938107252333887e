// Package csi gives pods the volumes of CSI drivers, and takes them back (A-CSI).
//
// What a pod has is on disk, where the kubelet has it and in its form: a record in the pod's
// folder before the driver is called, and one beside where the volume is staged. Nothing else is
// remembered: whoever comes after a kill, a kubelet too, finds there what has to be taken back.
// What is done for one volume is done one after the other, for different volumes side by side: a
// driver that hangs holds up its own pods only.
package csi
