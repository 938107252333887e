// Package features spares asking the runtime what it can do.
//
// When containerd begins it executes the shim with the argument "-info", which executes "runc features": the starts
// of two large Go programs before a pod can be run, and always the same answer. So the shim keeps what it has
// answered about the carried runc ([Shim]), and the next time that answer is given before Go begins.
//
// Without cgo Go always begins.
package features
