package images

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/distribution/reference"
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

// Records know with whose credentials images were pulled (A-IMG-8, KEP-2535).
// Their methods may be called by several goroutines at once.
type Records interface {
	// Intend is called before a pull; then one of Pulled and Failed is.
	Intend(image string) error
	// Pulled says which credential opened the registry; nil: everybody may use the image.
	Pulled(image, id string, by *Source)
	Failed(image string)
	// MustPull says whether an image that is present must be pulled all the same,
	// because nothing shows that one of these sources may use it.
	MustPull(image, id string, sources func() ([]Source, error)) bool
}

// MayUse says whether the pod of a request may use an image that is present
// (A-IMG-8); else it has to be pulled, which proves it. The request is asked for
// only if its credentials matter.
func (s *Store) MayUse(ctx context.Context, image string, found *Image, request func() PullRequest) bool {
	if s.options.Records == nil {
		return true
	}
	return !s.options.Records.MustPull(image, found.ID, func() ([]Source, error) {
		credentials, err := s.credentials(ctx, request())
		var sources []Source
		for _, login := range credentials {
			if login.source != nil {
				sources = append(sources, *login.source)
			}
		}
		return sources, err
	})
}

// pullRecorded pulls, and writes down who could.
func (s *Store) pullRecorded(ctx context.Context, request PullRequest, credentials []credential) (*Pulled, error) {
	records := s.options.Records
	if records == nil {
		return s.pullWithEach(ctx, request, credentials)
	}
	if err := records.Intend(request.Image); err != nil {
		return nil, fmt.Errorf("failed to record image pull intent: %w", err)
	}
	pulled, err := s.pullWithEach(ctx, request, credentials)
	if err != nil {
		records.Failed(request.Image)
		return nil, err
	}
	records.Pulled(request.Image, pulled.ID, pulled.Credential)
	return pulled, nil
}

// Remove deletes an image with all its names; ErrNotFound when it is absent.
func (s *Store) Remove(ctx context.Context, image string) error {
	found, err := s.Inspect(ctx, image)
	if err == nil && found == nil {
		err = ErrNotFound
	}
	if err == nil {
		_, err = s.client.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{
			Image: &runtimeapi.ImageSpec{Image: found.ID},
		})
	}
	if err != nil {
		return fmt.Errorf("remove image %q: %w", image, runtimeError(err))
	}
	return nil
}

// FullName is a name of an image as runtimes list it: with its registry, and with a
// tag where it has neither tag nor digest ("docker.io/library/app:latest"). It is
// empty for what is no name.
func FullName(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	return reference.TagNameOnly(named).String()
}

// Called is the tag or digest of the image that a user means by a name; empty if it
// is none of its names, but its ID.
func (i *Image) Called(name string) string {
	full := FullName(name)
	if slices.Contains(i.Tags, full) || slices.Contains(i.Digests, full) {
		return full
	}
	return ""
}

// Without are the names that go with one of the image's names while the others stay:
// a repository's digest goes with the last tag in that repository. Nil says that no
// tag would be left, so that the image goes.
func (i *Image) Without(name string) []string {
	left := slices.DeleteFunc(slices.Clone(i.Tags), func(tag string) bool { return tag == name })
	if len(left) == 0 {
		return nil
	}
	gone := []string{name}
	repository := repositoryOf(name)
	if slices.Contains(i.Digests, name) || slices.ContainsFunc(left, func(tag string) bool { return repositoryOf(tag) == repository }) {
		return gone
	}
	for _, digest := range i.Digests {
		if repositoryOf(digest) == repository {
			gone = append(gone, digest)
		}
	}
	return gone
}

func repositoryOf(name string) string {
	if named, err := repository(name); err == nil {
		return named
	}
	before, _, _ := strings.Cut(name, "@")
	return before
}
