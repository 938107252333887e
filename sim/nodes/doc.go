// Package nodes is nodes of a cluster without machines and containers, many in one process. Each
// registers its Node, renews its Lease, decides which pods live on it (package roster), takes
// them through their lives (packages worker and lifecycle), and tells the API server of them, as
// a node of lifepod agent does, by the same parts; what their containers do is a scenario of
// lifepod sim. All of them share one client, one watch of pods, one of Nodes, and one of
// JobSets once a pod takes part in one. They share one API as well (package node/server), at one
// address and port: kubectl logs gives out what containers have written, which is kept in memory
// (package sim/live); what needs processes is refused. Nothing is written to disk: a pod begins
// anew in the next process.
//
// Something can happen to nodes, too (package sim/nodes/nodefaults): then a node has a way to the API
// server of its own, and what its disk would keep (package sim/nodes), and misfortune.go
// has it happen.
//
// api.go is the API of simulated nodes, one for all nodes of a process, by package node/server: the
// pods of all nodes, and what their containers have written.
//
// link.go is a simulated node's way to the API server, which can be cut like a cable.
//
// machine.go is what a simulated node has in the place of a machine, and what can happen to that: its way to
// the API server is cut, its power goes off and on, its container runtime is slow.
//
// times.go is what the pods of simulated nodes live by. They may live in virtual time; the API has real times only. What a
// node tells the API server of its pods, and what that tells the node of them, is converted here, and nowhere else.
//
// certificate.go is whom the API of simulated nodes and its clients trust: the certificate that it
// is served with, and the authorities of its clients' certificates.
//
// usage.go says what simulated nodes and their pods use, as metrics-server reads it.
package nodes
