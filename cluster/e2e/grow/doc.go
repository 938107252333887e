// Package grow tests that a cluster grows: another machine, which is a network
// namespace of its own here, joins by a token, is cut off, and comes back.
package grow
