// Package placement has containers that run moved to the CPUs that are theirs.
package placement
