// Package e2e tests lifepod up from outside, with its kubectl and client-go: what
// people rely on in a Kubernetes, and how the program starts and ends.
package e2e
