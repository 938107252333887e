package bundle

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifepod/lifepod/bundle/manifest"
)

// ErrNotBuilt is returned by [Unpack] and [Open] in a binary that was
// compiled without the assets of bundle/build.
var ErrNotBuilt = errors.New("this lifepod was built without its runtime: build with `make build`, or use --runtime-endpoint")

// archive is the runtime in its packed form.
type archive struct {
	manifest manifest.Manifest
	// compressed opens the packed files. It is not read into memory: a start
	// that finds them unpacked never looks at it.
	compressed func() (fs.File, error)
}

// carried is the archive inside this binary.
func carried() (archive, error) {
	files, err := assets()
	if err != nil {
		return archive{}, err
	}
	return readAssets(files, manifest.Name, manifest.ArchiveName)
}

func readAssets(files fs.FS, manifestName, archiveName string) (archive, error) {
	text, err := fs.ReadFile(files, "assets/"+manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return archive{}, ErrNotBuilt
	}
	if err != nil {
		return archive{}, fmt.Errorf("read the bundled runtime: %w", err)
	}
	m, err := manifest.Parse(text)
	if err != nil {
		return archive{}, fmt.Errorf("read the bundled runtime: %w", err)
	}
	return archive{manifest: m, compressed: func() (fs.File, error) {
		return files.Open("assets/" + archiveName)
	}}, nil
}
