// Package handler carries out what a pod asks of a container that runs: one attempt of a probe, one run of a
// lifecycle hook, and the commands and requests that both are made of. When one is made, and what its result means, is
// decided in package lifecycle. It also ends the commands of clients, with all that they have started.
//
// run.go runs a command in a container that runs, through CRI's
// ExecSync, as exec probes and exec hooks need it. A command that is given up
// leaves no process in the container: the runtime kills only the one it
// started, its children are found and killed here.
//
// session.go ends a command that a client has begun through CRI's Exec, when the
// client goes away: its runtime would let it run on. Its process is recognised when it begins, as it ends
// by its client and not by its time; a probe's only when it is given up, as probes come often and seldom hang.
// Commands that the node's API runs go on without their clients, as those of the kubelet do.
//
// processview.go sees the processes of a container, for both: CRI tells the PID of the first one only. A command is
// recognised by its parent, which is outside of the container's cgroup, by when it has begun, and by its arguments.
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
