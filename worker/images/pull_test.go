package images

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-IMG-7: each match in order until one works.
func TestPullTriesEachCredential(t *testing.T) {
	fake := &fakeRuntime{onPull: func(_ context.Context, request *runtimeapi.PullImageRequest) error {
		if request.Auth.GetUsername() != "second" {
			return status.Error(codes.Unknown, "denied to "+request.Auth.GetUsername())
		}
		return nil
	}}
	store := newStore(t, fake, Options{})
	secrets := []v1.Secret{
		jsonSecret("one", `"r.io":{"username":"first","password":"p"}`),
		jsonSecret("two", `"r.io":{"username":"second","password":"p"}`),
		jsonSecret("three", `"r.io":{"username":"third","password":"p"}`),
	}
	pulled := assert.Get(store.Pull(t.Context(), PullRequest{Image: "r.io/app:1", Secrets: secrets})).Must(t)
	assert.Deep(t, "attempts", []string{"first:p", "second:p"}, fake.attempts())
	assert.True(t, pulled.Credential != nil && pulled.Credential.SecretName == "two", "want the credential of secret two, got %+v", pulled.Credential)
	uid := int64(1000)
	want := Image{
		ID: "sha256:1", Ref: "docker.io/library/app@sha256:9", SizeBytes: 123, UID: &uid,
		Tags: []string{"docker.io/library/app:1"}, Digests: []string{"docker.io/library/app@sha256:9"},
	}
	assert.Deep(t, "image", want, pulled.Image)
}

func TestPullAnonymously(t *testing.T) {
	fake := &fakeRuntime{}
	pulled := assert.Get(newStore(t, fake, Options{}).Pull(t.Context(), PullRequest{
		Image: "r.io/app:1", Secrets: []v1.Secret{jsonSecret("one", `"other.io":{"username":"u","password":"p"}`)},
	})).Must(t)
	diff := cmp.Diff([]string{":"}, fake.attempts())
	assert.True(t, diff == "" && pulled.Credential == nil, "want one pull without credential, got %+v (-want +got):\n%s", pulled.Credential, diff)
}

// A-IMG-4; what has no reason of its own is ErrImagePull, never a sentence (A-CST-8).
func TestPullErrors(t *testing.T) {
	for _, c := range []struct {
		name                     string
		err                      error
		secrets                  []v1.Secret
		reason, message, errText string
	}{
		{
			name: "any", err: status.Error(codes.Unknown, "no luck"),
			reason: "ErrImagePull", message: "no luck", errText: "no luck",
		}, {
			name: "code kept", err: status.Error(codes.NotFound, "no such image"),
			reason:  "ErrImagePull",
			message: "rpc error: code = NotFound desc = no such image",
			errText: "rpc error: code = NotFound desc = no such image",
		}, {
			name: "registry", err: status.Error(codes.Unknown, "RegistryUnavailable: no route"),
			reason:  "RegistryUnavailable",
			message: "image pull failed for r.io/app:1 because the registry is unavailable: no route",
			errText: "RegistryUnavailable: no route",
		}, {
			name: "signature", err: status.Error(codes.Unknown, "SignatureValidationFailed"),
			reason:  "SignatureValidationFailed",
			message: "image pull failed for r.io/app:1 because the signature validation failed",
			errText: "SignatureValidationFailed",
		}, {
			name: "two credentials", err: status.Error(codes.NotFound, "denied"),
			secrets: []v1.Secret{jsonSecret("one", `"r.io":{"username":"a","password":"p"},"r.io/app":{"username":"b","password":"p"}`)},
			reason:  "ErrImagePull",
			message: "rpc error: code = NotFound desc = denied",
			errText: "rpc error: code = NotFound desc = denied",
		}, {
			name:    "unreadable secret",
			secrets: []v1.Secret{jsonSecret("one", `"r.io"`)},
			reason:  "ErrImagePull",
			message: `read pull secret ns/one: invalid character '}' after object key`,
			errText: `read pull secret ns/one: invalid character '}' after object key`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &fakeRuntime{onPull: func(context.Context, *runtimeapi.PullImageRequest) error { return c.err }}
			_, err := newStore(t, fake, Options{}).Pull(t.Context(), PullRequest{Image: "r.io/app:1", Secrets: c.secrets})
			var pullErr *PullError
			assert.Require(t, errors.As(err, &pullErr), "want a PullError, got %v", err)
			want := []string{c.reason, c.message, c.errText, "r.io/app:1"}
			assert.Deep(t, "error", want, []string{pullErr.Reason, pullErr.Message, pullErr.Error(), pullErr.Image})
		})
	}
}

// gate holds pulls in the fake runtime until it is opened.
type gate struct {
	entered, open, cancelled chan struct{}
}

func newGate() *gate {
	return &gate{make(chan struct{}, 8), make(chan struct{}), make(chan struct{}, 8)}
}

func (g *gate) pull(ctx context.Context, _ *runtimeapi.PullImageRequest) error {
	g.entered <- struct{}{}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		g.cancelled <- struct{}{}
		return ctx.Err()
	}
}

func (s *Store) callersOf(image string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pull := range s.pulls {
		if pull.repository == image {
			return pull.callers
		}
	}
	return 0
}

// waitCallers blocks until so many callers share the pull of r.io/app.
func waitCallers(t *testing.T, store *Store, want int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for store.callersOf("r.io/app") != want {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("never %d callers", want)
		}
	}
}

func TestSharedPullSurvivesOneCancel(t *testing.T) {
	gate := newGate()
	fake := &fakeRuntime{onPull: gate.pull}
	store := newStore(t, fake, Options{})
	request := PullRequest{Image: "r.io/app:1"}
	firstCtx, cancelFirst := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := store.Pull(firstCtx, request); first <- err }()
	<-gate.entered
	go func() { _, err := store.Pull(t.Context(), request); second <- err }()
	waitCallers(t, store, 2)

	cancelFirst()
	assert.ErrorIs(t, context.Canceled, <-first, "cancelled caller")
	close(gate.open)
	assert.NoError(t, <-second, "the other caller")
	assert.Deep(t, "want one pull", []string{":"}, fake.attempts())
}

func TestLastCancelAbortsPull(t *testing.T) {
	gate := newGate()
	store := newStore(t, &fakeRuntime{onPull: gate.pull}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := store.Pull(ctx, PullRequest{Image: "r.io/app:1"}); done <- err }()
	<-gate.entered
	cancel()
	<-gate.cancelled
	var pullErr *PullError
	err := <-done
	assert.True(t, errors.Is(err, context.Canceled) && !errors.As(err, &pullErr), "want only the context's error, got %#v", err)
	close(gate.open)
	assert.NoError(t, assert.ErrorOf(store.Pull(t.Context(), PullRequest{Image: "r.io/app:1"})), "the next pull starts anew")
}

func TestOtherCredentialsAreAnotherPull(t *testing.T) {
	gate := newGate()
	store := newStore(t, &fakeRuntime{onPull: gate.pull}, Options{})
	done := make(chan error, 2)
	go func() { _, err := store.Pull(t.Context(), PullRequest{Image: "r.io/app:1"}); done <- err }()
	go func() {
		secrets := []v1.Secret{jsonSecret("one", `"r.io":{"username":"u","password":"p"}`)}
		_, err := store.Pull(t.Context(), PullRequest{Image: "r.io/app:1", Secrets: secrets})
		done <- err
	}()
	<-gate.entered
	<-gate.entered
	close(gate.open)
	for range 2 {
		assert.NoError(t, <-done)
	}
}

// A-IMG-6: the cap holds, and a cancelled caller gives its place in the queue up.
func TestMaxParallel(t *testing.T) {
	gate := newGate()
	fake := &fakeRuntime{onPull: gate.pull}
	store := newStore(t, fake, Options{MaxParallel: 1})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := store.Pull(t.Context(), PullRequest{Image: "r.io/first:1"}); first <- err }()
	<-gate.entered
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := store.Pull(ctx, PullRequest{Image: "r.io/app:1"}); second <- err }()
	waitCallers(t, store, 1)
	cancel()
	assert.ErrorIs(t, context.Canceled, <-second, "queued caller")
	close(gate.open)
	assert.NoError(t, <-first)
	assert.Equal(t, 1, len(fake.attempts()), "pulls that reached the runtime")
}

func TestRemove(t *testing.T) {
	fake := &fakeRuntime{}
	store := newStore(t, fake, Options{})
	fake.store("sha256:1", "app:1")
	assert.Must(t, store.Remove(t.Context(), "app:1"))
	if image, err := store.Inspect(t.Context(), "sha256:1"); image != nil || err != nil {
		t.Errorf("after Remove: want no image, got %+v, %v", image, err)
	}
	err := store.Remove(t.Context(), "app:1")
	want := `remove image "app:1": image not found`
	assert.True(t, errors.Is(err, ErrNotFound) && err.Error() == want, "absent image: want %q, got %v", want, err)
}
