// Package early keeps libraries from writing to stderr what cannot be turned off.
// The API server's etcd client makes a logger when its package is initialised, which
// writes to what os.Stderr is then; it tells of every call that it repeats, a
// hundred times at each start. Packages are initialised in the order of their paths
// as far as their imports permit, so this one, which imports nothing else, is before
// those of Kubernetes and etcd.
package early

import "os"

// Stderr is the process's.
var Stderr = os.Stderr

func init() {
	if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = nowhere
	}
}

// Restore gives os.Stderr back to everything that asks for it from now on.
func Restore() { os.Stderr = Stderr }
