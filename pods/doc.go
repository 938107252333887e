// Package pods has pods live on this machine: it is the shell around the roster
// (package roster), which decides which of them do.
//
//	Shell (shell.go)   feeds the roster with what sources, workers and the runtime tell,
//	                   and carries out what it asks for (carryout.go)
//	life (life.go)     a pod whose worker runs: its object, control socket and checkpoint
//
// What concerns a cluster are interfaces (Cluster): without one there is nobody to tell.
package pods
