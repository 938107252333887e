// Package remote is the journal of a node over HTTP: what the node's API serves, to those who
// may use nodes/proxy, and what asks for it.
//
//	GET /journal         the pods that the journal has: a list of journal.Pod
//	GET /journal/<uid>   what it has of one: a journal.Record
package remote
