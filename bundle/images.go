package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle/imageload"
)

// imported is the record of the carried images that containerd was given.
type imported struct {
	// Bundle is the digest of the bundle that carried them.
	Bundle string   `json:"bundle"`
	Images []string `json:"images"`
}

// ImportImages loads the carried images, pause and toolbox, into containerd,
// unless CRI lists them already, and returns their names. It costs a
// millisecond when they are there. Call it before the first pod: without the
// pause image no sandbox can be made.
func (r *Runtime) ImportImages(ctx context.Context) ([]string, error) {
	if names, ok := r.alreadyImported(ctx); ok {
		return names, nil
	}
	archives, err := filepath.Glob(filepath.Join(r.paths.Images(), "*.tar*"))
	if err != nil {
		return nil, err
	}
	done := imported{Bundle: filepath.Base(r.paths.Bundle)}
	for _, archive := range archives {
		names, err := r.importArchive(ctx, archive)
		if err != nil {
			return nil, fmt.Errorf("import the carried images: %w", err)
		}
		done.Images = append(done.Images, names...)
	}
	if !slices.Contains(done.Images, PauseImage) {
		return nil, fmt.Errorf("import the carried images: they are %q, and %q is not among them", done.Images, PauseImage)
	}
	text, err := json.Marshal(done)
	if err != nil {
		return nil, err
	}
	return done.Images, replaceFile(r.paths.importedRecord(), append(text, '\n'))
}

// alreadyImported says whether the images of this very bundle were imported
// and are still there: the user may have removed one.
func (r *Runtime) alreadyImported(ctx context.Context) ([]string, bool) {
	text, err := os.ReadFile(r.paths.importedRecord())
	if err != nil {
		return nil, false
	}
	var done imported
	if json.Unmarshal(text, &done) != nil || done.Bundle != filepath.Base(r.paths.Bundle) || len(done.Images) == 0 {
		return nil, false
	}
	conn, err := grpc.NewClient(r.Endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, false
	}
	defer func() { _ = conn.Close() }()
	client := cri.NewImageServiceClient(conn)
	for _, name := range done.Images {
		answer, err := client.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: name}})
		if err != nil || answer.GetImage() == nil {
			return nil, false
		}
	}
	return done.Images, true
}

func (r *Runtime) importArchive(ctx context.Context, path string) (names []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return imageload.LoadImages(ctx, r.paths.Socket(), f)
}
