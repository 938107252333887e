// Package groups tests groups of pods that restart as one on nodes of lifepod, with the
// real JobSet controller and without one (docs/groups.md).
package groups
