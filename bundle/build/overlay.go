package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/lifepod/lifepod/bundle/manifest"
)

// writeForeignOverlay writes what `go build` takes to embed the assets for another
// architecture in place of this machine's.
func (t tree) writeForeignOverlay() error {
	replace := map[string]string{}
	for _, name := range []string{manifest.Name, manifest.ArchiveName, manifest.ClusterName, manifest.ClusterArchiveName} {
		replace[filepath.Join(t.root, embedded, name)] = filepath.Join(t.assets(), name)
	}
	return writeOverlay(filepath.Join(t.cache(), "overlay.json"), replace)
}

// writeOverlay writes a file for the flag -overlay of `go build`.
func writeOverlay(path string, replace map[string]string) error {
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the overlay: %w", err)
	}
	return writeFile(path, append(text, '\n'))
}
