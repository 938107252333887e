// Package manifest describes the files of the bundled runtime: what
// bundle/build packs, and what package bundle expects to unpack.
package manifest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// The names of the assets: the runtime, the program of clusters, and the site of the documentation.
const (
	ArchiveName        = "runtime.tar.zst"
	Name               = "manifest.json"
	ClusterArchiveName = "cluster.tar.zst"
	ClusterName        = "cluster.json"
	DocsArchiveName    = "docs.tar.zst"
	DocsName           = "docs.json"
)

// What the archive of the program of clusters has: the program, and the manifest of
// the runtime that it is to be used with.
const (
	ClusterProgram = "bin/lifepod"
	ClusterRuntime = "assets/" + Name
)

// Manifest lists every file of the archive, sorted by path.
type Manifest struct {
	Files []File `json:"files"`
}

// File is one file of the archive.
type File struct {
	// Path is relative and slash-separated: bin/… programs, cni/… CNI
	// plugins, images/… image archives.
	Path string `json:"path"`
	// Mode has the permission bits only.
	Mode int64 `json:"mode"`
	// Size is in bytes.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// ComparePaths orders files by path.
func ComparePaths(a, b File) int { return strings.Compare(a.Path, b.Path) }

// Parse reads a manifest and refuses one whose paths would leave the folder
// it is unpacked to.
func Parse(text []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("read %s: %w", Name, err)
	}
	for _, f := range m.Files {
		if !filepath.IsLocal(f.Path) {
			return m, fmt.Errorf("read %s: %q is not a relative path", Name, f.Path)
		}
	}
	return m, nil
}

// Digest identifies the bundle: the first 16 hex digits of a SHA-256 over
// path, mode and digest of every file.
func (m Manifest) Digest() string {
	h := sha256.New()
	for _, f := range m.Files {
		fmt.Fprintf(h, "%s %o %d %s\n", f.Path, f.Mode, f.Size, f.SHA256)
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}
