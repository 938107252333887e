package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lifepod/lifepod/bundle/manifest"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// ClusterProgram puts the program that runs clusters below root, together with the
// runtime that it needs, and says where it is. lifepod carries it packed, because
// nobody else shall pay for its size. Several processes may call it at once.
func ClusterProgram(root string) (string, error) {
	p, err := Locate(root, "")
	if err != nil {
		return "", err
	}
	files, err := assets()
	if err != nil {
		return "", err
	}
	a, err := readAssets(files, manifest.ClusterName, manifest.ClusterArchiveName)
	if err != nil {
		return "", err
	}
	runtime := make(chan error, 1)
	go func() { // both take a while the first time
		var err error
		if os.Geteuid() == 0 { // nobody else can run it
			_, err = Unpack(root)
		}
		runtime <- err
	}()
	p.folder = rootfolder.Program
	held, err := p.unpack(context.Background(), a)
	if failed := <-runtime; failed != nil {
		if err == nil {
			_ = held.Close() // only a lock
		}
		return "", failed
	}
	if err != nil {
		return "", fmt.Errorf("program of clusters: %w", err)
	}
	return filepath.Join(p.Bundle, filepath.FromSlash(manifest.ClusterProgram)), held.Close()
}
