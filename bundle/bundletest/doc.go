// Package bundletest has the tests of the bundled runtime on the real
// containerd: they need root and the assets that `make build` makes, fail
// without either, and are compiled with the build tag realruntime, as in
// `go test -tags realruntime ./bundle/bundletest`.
package bundletest
