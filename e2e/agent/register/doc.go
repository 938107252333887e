// Package register has tests of package node/register against a real control
// plane: what the API server admits of a node, and what the controllers make of
// it. The container runtime is the one part that is not real: it says what the
// test wants.
package register
