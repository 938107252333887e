// Package several tests several servers of one cluster: two lifepod up, the second
// in a network namespace of its own, whose state is on an etcd that asks for client
// certificates.
package several
