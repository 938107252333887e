// Package nodes is nodes of a cluster without machines and containers, many in one process. Each
// registers its Node, renews its Lease, decides which pods live on it (package roster), takes
// them through their lives (packages worker and lifecycle), and tells the API server of them, as
// a node of lifepod agent does, by the same parts; what their containers do is a scenario of
// lifepod sim. All of them share one client, one watch of pods, one of Nodes, and one of
// JobSets once a pod takes part in one. They share one API as well (package node/server), at one
// address and port: kubectl logs gives out what containers have written, which is kept in memory
// (package sim/logs); what needs processes is refused. Nothing is written to disk: a pod begins
// anew in the next process.
//
// Something can happen to nodes, too (package sim/nodes/fate): then a node has a way to the API
// server of its own, and what its disk would keep (package sim/nodes/machine), and misfortune.go
// has it happen.
package nodes
