// Package contract reads the lifecycle contract and counts which of its rules a
// test proves.
//
// The contract says in numbered rules what Kubernetes does with a Pod
// (docs/contract). A test cites a rule where it proves it: a transcript in a
// comment, a Go test in a comment or in a string that a failure shows. `make
// contract` prints what is proven, and fails if a rule is in none of three states:
// proven by a test, marked as untested, or marked as another part's.
package contract
