// Package pods runs the pods of this machine: it is the shell around the roster
// (package roster), which decides which pods run.
//
//	Shell (shell.go)   feeds the roster with what sources, workers and the runtime tell,
//	                   and carries out what it asks for (carryout.go)
//	Life (life.go)     a pod whose worker runs, with its object and control socket; also
//	                   that of lifepod run, which has one pod and no roster
//	living (living.go) a life that the shell leads
//
// Parts that only a cluster has are interfaces (Cluster); without a cluster they are nil.
//
// loglinks.go makes links to the logs of pods where log collectors look for them.
//
// memory.go keeps what an agent leaves for the next one: the pods with their
// checkpoints, and which start of the machine it was. It has the lock that makes a
// node's pods one agent's.
package pods
