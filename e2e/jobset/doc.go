// Package jobset starts the real JobSet controller beside a control plane, for tests and
// measurements of groups (docs/groups.md). `make jobset` builds it.
package jobset
