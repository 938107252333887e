package images

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Options of a Store; the zero value pulls without limits and without the
// node's credentials.
type Options struct {
	// NodeConfigs are paths of docker config.json files; the first that exists
	// holds the node's credentials, tried after the pod's (A-IMG-7).
	NodeConfigs []string
	// Providers are asked for credentials last (A-IMG-7); nil for none.
	Providers Providers
	// Records know who may use an image that is present (A-IMG-8); with nil, everybody.
	Records Records
	// MaxParallel caps the pulls under way, 0 is no cap (A-IMG-6).
	MaxParallel int
	// PerSecond caps the pulls that begin, in bursts of up to Burst; 0 is no cap (A-IMG-6).
	PerSecond, Burst int
	// Containerd is the connection to containerd, which knows how many bytes have
	// arrived; CRI doesn't. nil or unanswering: only elapsed time is reported.
	Containerd grpc.ClientConnInterface
	// ProgressPeriod between two reports, 0 is a second.
	ProgressPeriod time.Duration
}

// Store is the images of one container runtime. Its methods may be called by
// several goroutines at once.
type Store struct {
	// immutable
	client  runtimeapi.ImageServiceClient
	options Options
	slots   chan struct{}
	rate    *rate.Limiter

	// guarded by mu
	mu    sync.Mutex
	pulls map[string]*sharedPull
}

// New makes a Store over a CRI image service. It holds nothing that needs closing.
func New(client runtimeapi.ImageServiceClient, options Options) *Store {
	if options.ProgressPeriod == 0 {
		options.ProgressPeriod = time.Second
	}
	store := &Store{client: client, options: options, pulls: map[string]*sharedPull{}, rate: rate.NewLimiter(rate.Inf, 0)}
	if options.PerSecond > 0 {
		store.rate = rate.NewLimiter(rate.Limit(options.PerSecond), max(options.Burst, 1))
	}
	if options.MaxParallel > 0 {
		store.slots = make(chan struct{}, options.MaxParallel)
	}
	return store
}

// Image is an image that the runtime holds.
type Image struct {
	ID string
	// Ref is what a container status shows as imageID: the first repository
	// digest, or the ID of an image that has none.
	Ref       string
	Tags      []string
	Digests   []string
	SizeBytes int64
	// UID and Username are the user that the image runs as: at most one is
	// set, neither for root by default. runAsNonRoot is judged by them.
	UID      *int64
	Username string
	// Pinned images survive garbage collection.
	Pinned bool
}

// Inspect returns an image by name, digest or ID; nil when it is absent. An
// error makes the container wait with ImageInspectError (A-IMG-2).
func (s *Store) Inspect(ctx context.Context, image string) (*Image, error) {
	response, err := s.client.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{
		Image: &runtimeapi.ImageSpec{Image: image, UserSpecifiedImage: image},
	})
	if err != nil {
		return nil, runtimeError(err)
	}
	if response.Image == nil {
		return nil, nil
	}
	if response.Image.Id == "" || response.Image.Size == 0 {
		return nil, fmt.Errorf("Id or size of image %q is not set", image) //nolint:staticcheck // it ends up in a Kubernetes event, in Kubernetes' words
	}
	return newImage(response.Image), nil
}

// Spec is an image's configuration (OCI), as far as the runtime tells it.
func (s *Store) Spec(ctx context.Context, image string) (map[string]any, error) {
	response, err := s.client.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}, Verbose: true})
	if err != nil {
		return nil, runtimeError(err)
	}
	var info struct{ ImageSpec map[string]any }
	_ = json.Unmarshal([]byte(response.GetInfo()["info"]), &info) // another runtime has another form, or none
	return info.ImageSpec, nil
}

// LocalName is the name by which an image is here that was built here by a short name: podman puts localhost/ before it, where Kubernetes
// takes Docker Hub to be meant. Empty if there is none.
func LocalName(ctx context.Context, s interface {
	Inspect(ctx context.Context, image string) (*Image, error)
}, name string) string {
	short, of := strings.CutPrefix(FullName(name), "docker.io/")
	if !of || strings.HasPrefix(name, "docker.io/") {
		return ""
	}
	local := "localhost/" + strings.TrimPrefix(short, "library/")
	if found, err := s.Inspect(ctx, local); err != nil || found == nil {
		return ""
	}
	return local
}

// List returns all images, in the runtime's order.
func (s *Store) List(ctx context.Context) ([]Image, error) {
	response, err := s.client.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", runtimeError(err))
	}
	all := make([]Image, 0, len(response.Images))
	for _, image := range response.Images {
		all = append(all, *newImage(image))
	}
	return all, nil
}

func newImage(from *runtimeapi.Image) *Image {
	image := &Image{
		ID:        from.Id,
		Ref:       from.Id,
		Tags:      from.RepoTags,
		Digests:   from.RepoDigests,
		SizeBytes: int64(from.Size),
		Username:  from.Username,
		Pinned:    from.Pinned,
	}
	if len(from.RepoDigests) > 0 {
		image.Ref = from.RepoDigests[0]
	}
	if from.Uid != nil {
		image.UID = &from.Uid.Value
	}
	return image
}
