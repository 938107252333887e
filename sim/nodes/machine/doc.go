// Package machine is what a simulated node has in the place of a machine, and what can happen to that: its way to
// the API server is cut, its power goes off and on, its container runtime is slow.
package machine
