// Package handler carries out what a pod asks of a container that runs: one attempt of a probe, one run of a
// lifecycle hook, and the commands and requests that both are made of. When one is made, and what its result means, is
// decided in package lifecycle.
//
// run.go runs a command in a container that runs, through CRI's
// ExecSync, as exec probes and exec hooks need it. A command that is given up
// leaves no process in the container: the runtime kills only the one it
// started, its children are found and killed here.
//
// http.go is how probes and lifecycle hooks reach a container over the
// network: named ports, requests as httpGet describes them, and the client that
// sends them.
//
// hook.go runs one lifecycle hook of a container: exec, httpGet or sleep.
// When it is run and what its failure means is decided in package lifecycle.
//
// probe.go makes one attempt of a container's probe: exec, httpGet,
// tcpSocket or grpc. When it is made, how often, and what its outcome means for
// the container is decided in package lifecycle.
package handler
