// Package faults has the fault tests and soaks of lifepod agent, on real parts: a
// control plane (package controlplane), agents as its nodes (package member), and
// what may go wrong with any of them. Agent and containerd are killed, the API
// server is stopped, the network between them is cut, calls of the runtime fail,
// hang and lose their answers, while pods are created, restart, are probed and
// deleted.
//
// What is seen from outside is held against laws: the statuses that a watch of
// the API tells (history_test.go), and what containers write down about
// themselves (witness_test.go). Nothing may be lost, happen twice or be left
// behind.
//
// The forms that `go test` runs are short; `make soak-agent` runs the long ones
// and prints their figures.
package faults
