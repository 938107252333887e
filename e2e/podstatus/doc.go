// Package podstatus tests what a node tells of its pods (node/publish,
// node/publish) against a real API server, with a node's own credentials and
// without containers.
package podstatus
