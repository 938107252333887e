// Command steps shows where the time of one create and of one delete goes, step by step, on the runtime as upstream ships
// it and on the one that lifepod carries: lifepod's spans of what it does for the pod (those that the
// agent sends to a collector), and within each call of the runtime the events by which containerd says how
// far it is. Both runtimes are those that are used otherwise: neither is built or configured to be traced.
package main
