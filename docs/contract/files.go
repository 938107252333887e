// Package contract holds the text of the contract, for the programs that read it.
package contract

import "embed"

// Files are README.md, which lists the chapters in their order, the chapters, and words.md.
//
//go:embed README.md words.md startup/*.md termination/*.md
var Files embed.FS
