// Package hook runs one lifecycle hook of a container: exec, httpGet or sleep.
// When it is run and what its failure means is decided in package lifecycle.
package hook
