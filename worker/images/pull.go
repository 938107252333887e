package images

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PullRequest is one pull of an image.
type PullRequest struct {
	// Image with its tag or digest (lifecycle.WithDefaultTag).
	Image string
	// Pod that the image is pulled for, as credential providers want to know it;
	// nil if none.
	Pod *v1.Pod
	// Sandbox is the pod that the image is pulled for; nil if none.
	Sandbox *runtimeapi.PodSandboxConfig
	// Secrets are the pod's imagePullSecrets that exist, in their order.
	Secrets []v1.Secret
	// Progress is called about once a second while the pull lasts, from the
	// goroutine that called Pull and never after it returned; may be nil.
	Progress func(Progress)
}

// Pulled is a finished pull.
type Pulled struct {
	Image
	// Credential is the pull secret that opened the registry; nil if the pull
	// was anonymous or used the node's credentials, so that any pod may use the
	// image (A-IMG-8).
	Credential *Source
	// PullDuration leaves out the wait for a free slot, TotalDuration counts it (A-IMG-4).
	PullDuration  time.Duration
	TotalDuration time.Duration
}

// Pull pulls an image with each fitting credential in turn until one works
// (A-IMG-7). Calls for the same image with the same credentials at the same
// time share one pull, which ends early only when all of them are cancelled.
// The error is a *PullError, or wraps the context's error.
func (s *Store) Pull(ctx context.Context, request PullRequest) (*Pulled, error) {
	start := time.Now()
	credentials, err := s.credentials(ctx, request)
	if err != nil {
		return nil, newPullError(request.Image, err)
	}
	pull := s.join(ctx, request, credentials)
	defer s.leave(pull)
	if err := s.await(ctx, pull, request.Progress); err != nil {
		return nil, fmt.Errorf("pull image %q: %w", request.Image, err)
	}
	if pull.err != nil {
		return nil, newPullError(request.Image, pull.err)
	}
	pulled := *pull.result
	pulled.TotalDuration = time.Since(start)
	return &pulled, nil
}

// await returns once the pull is done, or with the context's error.
func (s *Store) await(ctx context.Context, pull *sharedPull, report func(Progress)) error {
	if report == nil {
		report = func(Progress) {}
	}
	start := time.Now()
	tracker := s.newTracker(pull.repository)
	ticker := time.NewTicker(s.options.ProgressPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-pull.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			report(s.observe(ctx, pull, tracker, time.Since(start)))
		}
	}
}

// observe asks the content service, but not longer than until the pull or the
// caller is done or the next report is due.
func (s *Store) observe(ctx context.Context, pull *sharedPull, tracker *tracker, elapsed time.Duration) Progress {
	bounded, cancel := context.WithTimeout(pull.ctx, s.options.ProgressPeriod)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return tracker.observe(bounded, elapsed)
}

// credentials are those of the pod's secrets, then those of the node, then those
// of credential providers (A-IMG-7).
func (s *Store) credentials(ctx context.Context, request PullRequest) ([]credential, error) {
	repository, err := repository(request.Image)
	if err != nil {
		return nil, err
	}
	pod, err := secretKeyring(request.Secrets)
	if err != nil {
		return nil, err
	}
	node, err := nodeKeyring(ctx, s.options.NodeConfigs, repository)
	if err != nil {
		return nil, err
	}
	provided := s.provided(ctx, repository, request.Pod)
	return slices.Concat(pod.lookup(repository), node.lookup(repository), provided.lookup(repository)), nil
}

// pullWithEach tries the credentials in order; without any, it pulls anonymously.
func (s *Store) pullWithEach(ctx context.Context, request PullRequest, credentials []credential) (*Pulled, error) {
	if len(credentials) == 0 {
		return s.pullOnce(ctx, request, nil)
	}
	var failures []error
	for _, login := range credentials {
		auth := &runtimeapi.AuthConfig{Username: login.username, Password: login.password}
		if login.username == tokenUser {
			auth = &runtimeapi.AuthConfig{IdentityToken: login.password}
		}
		pulled, err := s.pullOnce(ctx, request, auth)
		if err == nil {
			pulled.Credential = login.source
			return pulled, nil
		}
		failures = append(failures, err)
	}
	return nil, utilerrors.NewAggregate(failures)
}

func (s *Store) pullOnce(ctx context.Context, request PullRequest, auth *runtimeapi.AuthConfig) (*Pulled, error) {
	response, err := s.client.PullImage(ctx, &runtimeapi.PullImageRequest{
		Image:         &runtimeapi.ImageSpec{Image: request.Image, UserSpecifiedImage: request.Image},
		Auth:          auth,
		SandboxConfig: request.Sandbox,
	})
	if err != nil {
		return nil, runtimeError(err)
	}
	if strings.TrimSpace(response.ImageRef) == "" {
		return nil, fmt.Errorf("imageRef of image %q is not set", request.Image)
	}
	image, err := s.Inspect(ctx, response.ImageRef)
	if err != nil {
		return nil, err
	}
	if image == nil {
		return nil, fmt.Errorf("image %q is gone right after it was pulled", request.Image)
	}
	return &Pulled{Image: *image}, nil
}

// repository is the name that credentials are matched against: registry and
// path in full, without tag and digest ("docker.io/library/busybox").
func repository(image string) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	return named.Name(), nil
}

// rateWindow is the time over which a rate is measured: it follows a change within seconds,
// and does not jump with each block.
const rateWindow = 5 * time.Second

// window is how many bytes there were at the looks of the last seconds.
type window struct{ samples []sample }

type sample struct {
	elapsed time.Duration // of the pull
	bytes   int64
}

// add notes a look, and returns how many bytes a second have come over the window.
func (w *window) add(elapsed time.Duration, bytes int64) (perSecond int64) {
	w.samples = append(w.samples, sample{elapsed, bytes})
	for len(w.samples) > 2 && elapsed-w.samples[0].elapsed > rateWindow {
		w.samples = w.samples[1:]
	}
	first := w.samples[0]
	seconds := (elapsed - first.elapsed).Seconds()
	if seconds <= 0 || bytes <= first.bytes {
		return 0 // also after a download that began again
	}
	return int64(float64(bytes-first.bytes) / seconds)
}

// Reasons of a failed pull as a container's waiting state shows them (A-IMG-4).
const (
	ReasonErrImagePull              = "ErrImagePull"
	ReasonRegistryUnavailable       = "RegistryUnavailable"
	ReasonSignatureValidationFailed = "SignatureValidationFailed"
)

// ErrNotFound is what Remove reports about an image that isn't there.
var ErrNotFound = errors.New("image not found")

// PullError is a pull that was carried out and failed (A-IMG-4). A pull that
// was cancelled gives the context's error instead.
type PullError struct {
	// Image as asked for.
	Image string
	// Reason and Message of the container's waiting state.
	Reason  string
	Message string
	// Err is the runtime's own error, the text of the event "Failed".
	Err error
}

// Error is the text of the runtime's error.
func (e *PullError) Error() string { return e.Err.Error() }

// Unwrap gives the runtime's error.
func (e *PullError) Unwrap() error { return e.Err }

// newPullError classifies by the prefixes that CRI defines.
func newPullError(image string, err error) *PullError {
	pullErr := &PullError{Image: image, Reason: ReasonErrImagePull, Message: err.Error(), Err: err}
	phrases := []struct{ reason, phrase string }{
		{ReasonRegistryUnavailable, " because the registry is unavailable"},
		{ReasonSignatureValidationFailed, " because the signature validation failed"},
	}
	for _, p := range phrases {
		if detail, found := strings.CutPrefix(err.Error(), p.reason); found {
			pullErr.Reason = p.reason
			pullErr.Message = "image pull failed for " + image + p.phrase + detail
		}
	}
	return pullErr
}

// runtimeError takes the wrapping off an error of code Unknown, which says
// nothing but "rpc error: code = Unknown desc = " and hides CRI's prefixes.
func runtimeError(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unknown {
		return errors.New(s.Message())
	}
	return err
}
