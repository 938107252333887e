// Package counts counts what becomes of pods under lifepod's own names, lifepod_…, for what the kubelet has no
// metric of: a node has them on /metrics beside the kubelet's (package node/stats), and lifepod run sends
// them where the environment says (package telemetry). docs/metrics.md has each of them.
//
// It is told what is carried out (worker.Watch), each new status, and each write to a journal. What is kept of a
// pod goes with it (Gone).
package counts
