// Package contract counts which rules of the lifecycle contract a test proves.
//
// The contract says in numbered rules what Kubernetes does with a Pod; rules.txt
// has their numbers. A test cites the rules that it proves: a transcript in its
// first lines, a Go test in its comments or names. `make contract` prints what is
// cited and fails if a rule that applies is not.
package contract
