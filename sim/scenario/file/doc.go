// Package file reads scenarios, as strictly as manifests and with errors as good.
//
// choice.go is the scenarios of a runtime or node that many pods live on, and which pod
// lives by which.
package file
