// Package agent tests lifepod agent from outside: the built binary as a node of the
// control plane of lifepod up (package controlplane), seen through the Kubernetes API and
// kubectl, with real containers of the bundled runtime. It needs root.
//
// One control plane serves all tests, and one node those that don't kill or
// restart theirs; each test has a namespace of its own. Nothing may be left when
// the last has ended.
//
//	LIFEPOD=bin/lifepod go test ./e2e/agent/       test a binary that is there
//	go test ./e2e/agent/                           build one first
//
// `make build` builds the control plane, `make kubelet` the kubelet whose place
// lifepod takes.
package agent
