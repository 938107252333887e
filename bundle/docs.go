package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/lifepod/lifepod/bundle/manifest"
)

// Docs are the files of the documentation's site that this binary carries, by their paths: those that make site has built before
// make build. Without them the error says so.
func Docs() (map[string][]byte, error) {
	files, err := assets()
	if err != nil {
		return nil, err
	}
	a, err := readAssets(files, manifest.DocsName, manifest.DocsArchiveName)
	if errors.Is(err, ErrNotBuilt) {
		return nil, errors.New("this lifepod was built without its documentation: build with `make site build`; packages have it")
	}
	if err != nil {
		return nil, err
	}
	docs, err := a.read()
	if err != nil {
		return nil, fmt.Errorf("unpack the documentation: %w", err)
	}
	return docs, nil
}

// read unpacks into memory.
func (a archive) read() (map[string][]byte, error) {
	packed, err := a.compressed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }()
	z, err := zstd.NewReader(packed)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err == nil {
			files[header.Name], err = io.ReadAll(r)
		}
		if err != nil {
			return nil, err
		}
	}
}
