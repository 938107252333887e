// Package stats says what the node and its pods use: /stats/summary (Summary API
// v1alpha1), /metrics/resource, which metrics-server and kubectl top read, and
// /metrics/cadvisor, which dashboards read.
//
// What pods use comes from the runtime over CRI, read once for concurrent requests.
// What the node and its parts use is in their cgroups (version 1 and 2) and
// in /proc; what volumes use is measured and kept for volumeStatsAggPeriod. Nothing
// is read while nobody asks. A figure that isn't known is left out.
//
// managers.go counts what pods ask for and get for themselves: the metrics of the kubelet's
// CPU, memory and topology manager (contract A-NUMA-19).
//
// metrics.go counts what happens in the node: /metrics, /metrics/probes and
// /metrics/slis of the node's API, with the names and labels of the kubelet 1.37 for
// what lifepod has the same facts of (B-WRK-26), and lifepod_… for its own. What it
// has no fact of isn't there.
//
// Parts tell it what they do (Counts, worker.Watch, Runtime, API, HTTP); what can be
// seen in the pods' statuses is read when somebody asks. What is kept of a pod goes
// with it.
package stats
