// Package scenario says what happens to a pod in virtual time: what its containers do, how
// long pulls and calls take, and what befalls the node. It is read from YAML; Schema is its
// JSON schema.
package scenario
