// Package architecture has the rules of docs/architecture.md for this module that a
// machine can check: what the program of clusters may contain. It has no code beside
// its test.
package architecture
