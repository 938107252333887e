// Package environment resolves what a container is started with: its
// variables, command and args (contract A-ENV).
//
// Everything is computed from values handed in, so the package does no I/O but
// reading the file of a fileKeyRef. An error of Build is what Kubernetes shows
// as the message of a container waiting with reason CreateContainerConfigError.
package environment
