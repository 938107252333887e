//go:build lifepod_cluster

package bundle

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// assets are those beside the program of clusters, which lifepod has unpacked
// together with the runtime that they describe: it needs not carry that again.
func assets() (fs.FS, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program's folder: %w", err)
	}
	return os.DirFS(filepath.Dir(filepath.Dir(program))), nil
}
