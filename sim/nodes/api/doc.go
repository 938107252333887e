// Package api is the API of simulated nodes, one for all nodes of a process, by package node/server: the
// pods of all nodes, and what their containers have written.
package api
