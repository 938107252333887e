// Package stats says what the node and its pods use: /stats/summary (Summary API
// v1alpha1), /metrics/resource, which metrics-server and kubectl top read, and
// /metrics/cadvisor, which dashboards read.
//
// What pods use the runtime says over CRI, read once for all that ask at the same
// time; what the node and its parts use is in their cgroups (version 1 and 2) and
// in /proc; what volumes use is measured and kept for volumeStatsAggPeriod. Nothing
// is read while nobody asks. A figure that isn't known is left out.
package stats
