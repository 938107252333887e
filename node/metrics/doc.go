// Package metrics counts what happens in the node: /metrics, /metrics/probes and
// /metrics/slis of the node's API, with the names and labels of the kubelet 1.36 for
// what lifepod has the same facts of (B-WRK-26), and lifepod_… for its own. What it
// has no fact of isn't there.
//
// Parts tell it what they do (Counts, agent.Watch, Runtime, API, HTTP); what can be
// seen in the pods' statuses is read when somebody asks. What is kept of a pod goes
// with it.
package metrics
