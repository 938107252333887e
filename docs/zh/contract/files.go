// Package contract holds what the words of the contract mean, in Chinese.
package contract

import _ "embed"

// Words is words.md.
//
//go:embed words.md
var Words string
