// Package examples holds the manifests of the documentation, for lifepod example.
package examples

import "embed"

// Files are manifests, those of a cluster in cluster, and what happens to some in scenarios.
//
//go:embed *.yaml cluster/*.yaml scenarios/*.yaml
var Files embed.FS
