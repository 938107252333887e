package images

import (
	"context"
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-IMG-8: the hash is the kubelet's, whose records lifepod goes on with.
func TestCredentialHash(t *testing.T) {
	const want = "edbd57ca9372e64eb1c9070ecf3a049ac553596b0529acf034c7a71d4e618e88" // of {"username":"u","password":"p"}
	assert.Equal(t, want, (credential{username: "u", password: "p"}).hash(), "hash")
}

// fakeRecords note what they are told of, and let those use an image that have a
// source named allowed.
type fakeRecords struct {
	calls   []string
	allowed string
	refuse  error
}

func (f *fakeRecords) Intend(image string) error {
	f.calls = append(f.calls, "intend "+image)
	return f.refuse
}

func (f *fakeRecords) Pulled(image, id string, by *Source) {
	who := "everybody"
	if by != nil {
		who = by.SecretName
	}
	f.calls = append(f.calls, "pulled "+image+" "+id+" by "+who)
}

func (f *fakeRecords) Failed(image string) { f.calls = append(f.calls, "failed "+image) }

func (f *fakeRecords) MustPull(_, _ string, sources func() ([]Source, error)) bool {
	all, err := sources()
	return err != nil || !slices.ContainsFunc(all, func(s Source) bool { return s.SecretName == f.allowed })
}

// A-IMG-8: the intent before, the outcome with its credential after a pull.
func TestPullsAreRecorded(t *testing.T) {
	for _, tc := range []struct {
		name    string
		secrets []v1.Secret
		err     error
		refuse  error
		want    []string
	}{
		{"with a secret", []v1.Secret{jsonSecret("one", `"r.io":{"username":"u","password":"p"}`)}, nil, nil, []string{"intend r.io/app:1", "pulled r.io/app:1 sha256:1 by one"}},
		{"anonymously", nil, nil, nil, []string{"intend r.io/app:1", "pulled r.io/app:1 sha256:1 by everybody"}},
		{"in vain", nil, errors.New("no"), nil, []string{"intend r.io/app:1", "failed r.io/app:1"}},
		{"not without an intent", nil, nil, errors.New("disk full"), []string{"intend r.io/app:1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := &fakeRuntime{onPull: func(context.Context, *runtimeapi.PullImageRequest) error { return tc.err }}
			records := &fakeRecords{refuse: tc.refuse}
			_, err := newStore(t, fake, Options{Records: records}).Pull(t.Context(), PullRequest{Image: "r.io/app:1", Secrets: tc.secrets})
			assert.True(t, (err != nil) == (tc.err != nil || tc.refuse != nil), "error %v", err)
			assert.Deep(t, "recorded", tc.want, records.calls)
		})
	}
}

// A-IMG-8: who may use what is present.
func TestMayUse(t *testing.T) {
	store := newStore(t, &fakeRuntime{}, Options{Records: &fakeRecords{allowed: "one"}})
	found := &Image{ID: "sha256:1"}
	for name, want := range map[string]bool{"one": true, "two": false} {
		request := PullRequest{Image: "r.io/app:1", Secrets: []v1.Secret{jsonSecret(name, `"r.io":{"username":"u","password":"p"}`)}}
		assert.Equal(t, want, store.MayUse(t.Context(), "r.io/app:1", found, func() PullRequest { return request }), "with secret %s: may use", name)
	}
	assert.True(t, newStore(t, &fakeRuntime{}, Options{}).MayUse(t.Context(), "r.io/app:1", found, nil), "without records not everybody may use an image")
}

type fakeProviders struct{ asked []string }

func (f *fakeProviders) Logins(_ context.Context, repository string, pod *v1.Pod) []Login {
	f.asked = append(f.asked, repository+" for "+pod.Name)
	return []Login{
		{Location: "*.io", Username: "wide", Password: "p"},
		{Location: "r.io/app", Username: "narrow", Password: "p", Source: &Source{ServiceAccount: &ServiceAccount{Name: "robot"}}},
		{Location: "other.io", Username: "other", Password: "p"},
	}
}

// A-IMG-7: the pod's secrets, then the node, then providers, whose patterns are
// tried from the most specific on.
func TestProvidersComeLast(t *testing.T) {
	fake := &fakeRuntime{onPull: func(_ context.Context, request *runtimeapi.PullImageRequest) error {
		if request.Auth.GetUsername() != "narrow" {
			return errors.New("denied")
		}
		return nil
	}}
	providers := &fakeProviders{}
	pulled := assert.Get(newStore(t, fake, Options{Providers: providers}).Pull(t.Context(), PullRequest{
		Image: "r.io/app:1", Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		Secrets: []v1.Secret{jsonSecret("one", `"r.io":{"username":"secret","password":"p"}`)},
	})).Must(t)
	assert.Deep(t, "attempts", []string{"secret:p", "narrow:p"}, fake.attempts())
	assert.Deep(t, "asked", []string{"r.io/app for web"}, providers.asked)
	assert.True(t, pulled.Credential.ServiceAccount.Name == "robot", "credential %+v, want the service account's", pulled.Credential)
}
