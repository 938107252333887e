package bundle

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifepod/lifepod/bundle/manifest"
)

// The whole folder is embedded, so that the module also compiles when the
// assets were not built: then there is only the README.
//
//go:embed all:assets
var embedded embed.FS

// ErrNotBuilt is returned by [Unpack] and [Open] in a binary that was
// compiled without the assets of bundle/build.
var ErrNotBuilt = errors.New("this lifepod was built without its runtime: build with `make build`, or use --runtime-endpoint")

// archive is the runtime in its packed form.
type archive struct {
	manifest   manifest.Manifest
	compressed []byte
}

// carried is the archive inside this binary.
func carried() (archive, error) { return readAssets(embedded) }

func readAssets(files fs.FS) (archive, error) {
	text, err := readAsset(files, manifest.Name)
	if err != nil {
		return archive{}, err
	}
	m, err := manifest.Parse(text)
	if err != nil {
		return archive{}, fmt.Errorf("read the carried runtime: %w", err)
	}
	compressed, err := readAsset(files, manifest.ArchiveName)
	return archive{manifest: m, compressed: compressed}, err
}

func readAsset(files fs.FS, name string) ([]byte, error) {
	content, err := fs.ReadFile(files, "assets/"+name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotBuilt
	}
	if err != nil {
		return nil, fmt.Errorf("read the carried runtime: %w", err)
	}
	return content, nil
}
