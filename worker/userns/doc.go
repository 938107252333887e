// Package userns gives each pod with hostUsers: false a block of the machine's
// user and group IDs of its own (contract A-SEC-6, KEP-127).
//
// The block is recorded in the pod's folder and lives as long as that: whoever
// carries the pod on finds the same IDs, and with the folder the block is free
// again. Processes that share a pods folder agree by a lock on it.
package userns
