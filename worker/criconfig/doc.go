// Package criconfig builds what the runtime is asked for, the sandbox and
// container configs of CRI, from a pod and values computed elsewhere, and reads
// back from labels and annotations whose container one is (contract A-CRI,
// A-SEC).
//
// Building and parsing are pure: no file is touched and nothing about the host
// is asked; what depends on the host comes in Node, which Host reads once.
package criconfig
