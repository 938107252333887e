package bundle

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	leasesapi "github.com/containerd/containerd/api/services/leases/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
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
//
// A containerd that does not answer is an error after ten seconds.
func (r *Runtime) ImportImages(ctx context.Context) ([]string, error) {
	names, err := r.alreadyImported(ctx)
	if err != nil || names != nil {
		return names, err
	}
	hung := fmt.Errorf("import the bundled images: containerd has not taken them within %v", importPatience)
	ctx, cancel := context.WithTimeoutCause(ctx, importPatience, hung)
	defer cancel()
	archives, err := filepath.Glob(filepath.Join(r.paths.Images(), "*.tar*"))
	if err != nil {
		return nil, err
	}
	done := imported{Bundle: filepath.Base(r.paths.Bundle)}
	for _, archive := range archives {
		names, err := cri.Again(ctx, func(ctx context.Context) ([]string, error) { return r.importArchive(ctx, archive) })
		if errors.Is(context.Cause(ctx), hung) {
			return nil, hung
		}
		if err != nil {
			return nil, fmt.Errorf("import the bundled images: %w", err)
		}
		done.Images = append(done.Images, names...)
	}
	if !slices.Contains(done.Images, PauseImage) {
		return nil, fmt.Errorf("import the bundled images: they are %q, and %q is not among them", done.Images, PauseImage)
	}
	text, err := json.Marshal(done)
	if err != nil {
		return nil, err
	}
	return done.Images, replaceFile(r.paths.importedRecord(), append(text, '\n'))
}

// answerPatience is how long containerd may take for a question that costs it
// a millisecond, and importPatience for images of a few megabytes: a small machine that is
// busy needs more than a minute.
const (
	answerPatience = 10 * time.Second
	importPatience = 5 * time.Minute
)

// alreadyImported returns the images of this very bundle, if they were imported
// and are still there: the user may have removed one. It fails when containerd
// does not answer.
func (r *Runtime) alreadyImported(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	client, err := cri.Dial(r.Endpoint(), grpc.WithDefaultCallOptions(grpc.WaitForReady(true))) // it may just have died, and be on its way back
	if err != nil {
		return nil, fmt.Errorf("import the bundled images: %w", err)
	}
	defer func() { _ = client.Close() }() // it was only asked
	names := r.recordedImages()
	wanted := names
	if len(wanted) == 0 {
		wanted = []string{PauseImage} // a question, to see that it answers
	}
	for _, name := range wanted {
		answer, err := cri.Again(ctx, func(ctx context.Context) (*runtimeapi.ImageStatusResponse, error) {
			return client.Images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: name}})
		})
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) { // whatever the last attempt's error was
			return nil, fmt.Errorf("containerd at %s does not answer; its log is %s", r.Endpoint(), r.paths.Log())
		}
		if err != nil || answer.GetImage() == nil {
			return nil, nil // the import says what is wrong
		}
	}
	return names, nil
}

// recordedImages are what was imported of this very bundle.
func (r *Runtime) recordedImages() []string {
	text, err := os.ReadFile(r.paths.importedRecord())
	if err != nil {
		return nil
	}
	var done imported
	if json.Unmarshal(text, &done) != nil || done.Bundle != filepath.Base(r.paths.Bundle) {
		return nil
	}
	return done.Images
}

func (r *Runtime) importArchive(ctx context.Context, path string) (names []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return LoadImages(ctx, r.paths.Socket(), f)
}

// leaseTime is how long containerd keeps what an import that was killed left.
const leaseTime = 24 * time.Hour

// leased makes all that is done with the context safe from containerd's garbage
// collector until release is called. Streams need it as well: the collector
// looks for those in use only in namespaces that hold something already, so in
// a new state folder its first turn closes every stream without a lease.
func leased(ctx context.Context, conn *grpc.ClientConn) (_ context.Context, release func(), err error) {
	client := leasesapi.NewLeasesClient(conn)
	id := newLeaseID()
	_, err = client.Create(ctx, &leasesapi.CreateRequest{ID: id, Labels: map[string]string{
		"containerd.io/gc.expire": time.Now().Add(leaseTime).Format(time.RFC3339),
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("lease the images: %w", err)
	}
	release = func() {
		// A lease that stays expires.
		_, _ = client.Delete(context.WithoutCancel(ctx), &leasesapi.DeleteRequest{ID: id})
	}
	return metadata.AppendToOutgoingContext(ctx, "containerd-lease", id), release, nil
}

func newLeaseID() string { return "lifepod-" + rand.Text() }
