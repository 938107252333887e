// Package docs holds the text of the contract, for the programs that read it.
package docs

import "embed"

// Contract has README.md, which lists the chapters in their order, the chapters, and words.md, all below contract, and below zh/contract
// what the words mean, in Chinese.
//
//go:embed contract/README.md contract/words.md contract/startup/*.md contract/termination/*.md zh/contract/words.md
var Contract embed.FS
