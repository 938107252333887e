// Package architecture has the rules of docs/architecture.md that a machine can
// check: who may import whom, and which packages are pure. It has no code beside its test.
package architecture
