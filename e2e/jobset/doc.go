// Package jobset runs the JobSet controller that `make jobset` has built, for tests and measurements of groups
// that restart as one (docs/groups.md).
package jobset
