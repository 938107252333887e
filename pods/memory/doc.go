// Package memory keeps what an agent leaves for the next one: the pods with their
// checkpoints, and which start of the machine it was. It has the lock that makes a
// node's pods one agent's.
package memory
