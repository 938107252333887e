// Package record keeps what has to be known of a sandbox's process when its shim has
// died: which process it is, and its cgroup.
package record
