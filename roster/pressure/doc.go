// Package pressure decides what a node does when it runs out of memory, disk or process
// IDs: which thresholds are met, which conditions the Node has, what is reclaimed before
// a pod, and which pod has to go (contract B-EVI). It is pure: what was measured comes
// in, a decision goes out. Order, reasons and messages are those of Kubernetes 1.37.2.
//
// ParseThresholds reads the configuration. A State takes one Observations after the
// other and answers with a Verdict; Reclaims says what can be given back without ending
// a pod; Rank orders pods, and Describe says why one has to go.
package pressure
