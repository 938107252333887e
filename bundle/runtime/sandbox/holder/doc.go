// Package holder starts the process that makes a pod's namespaces and holds them,
// pause/sandbox.c, from what the sandbox's spec asks for.
package holder
