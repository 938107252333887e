//go:build !lifepod_cluster

package bundle

import (
	"embed"
	"io/fs"
)

// The whole folder is embedded, so that the module also compiles when the
// assets were not built: then there is only the README.
//
//go:embed all:assets
var embedded embed.FS

func assets() (fs.FS, error) { return embedded, nil }
