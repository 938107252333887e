// Package podresources tells other programs of the node, at a unix socket, which devices, CPUs and memory each container has:
// the pod resources API (v1, and List of v1alpha1), which exporters of metrics and topology use.
package podresources
