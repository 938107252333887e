package objects

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	kubelet "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
	"github.com/lifepod/lifepod/worker/images"
)

var (
	_ images.Records   = (*PullRecords)(nil)
	_ images.Providers = (*CredentialProviders)(nil)
)

func policy(t *testing.T, name string, preloaded ...string) PullPolicy {
	t.Helper()
	return assert.Get(NewPullPolicy(kubelet.ImagePullCredentialsVerificationPolicy(name), preloaded)).Must(t)
}

func open(t *testing.T, root string, p PullPolicy, present ...images.Image) *PullRecords {
	t.Helper()
	return OpenPullRecords(root, p, present, slog.New(slog.DiscardHandler))
}

func pullsecretSecret(name, hash string) images.Source {
	return images.Source{SecretUID: "uid-" + name, SecretNamespace: "ns", SecretName: name, CredentialHash: hash}
}

func account(name string) images.Source {
	return images.Source{ServiceAccount: &images.ServiceAccount{UID: "uid-" + name, Namespace: "ns", Name: name}}
}

func of(sources ...images.Source) func() ([]images.Source, error) {
	return func() ([]images.Source, error) { return sources, nil }
}

const app, id = "r.io/app:1", "sha256:1"

// TestMustPull: A-IMG-8, after a pull with one credential, by pods with others.
func TestMustPull(t *testing.T) {
	first, robot := pullsecretSecret("first", "h1"), account("robot")
	for _, tc := range []struct {
		name   string
		by     *images.Source
		image  string
		theirs []images.Source
		want   bool
	}{
		{"pulled without any", nil, app, nil, false},
		{"the same secret", &first, app, []images.Source{first}, false},
		{"the same secret with another password", &first, app, []images.Source{pullsecretSecret("first", "h2")}, false},
		{"the same password in another secret", &first, app, []images.Source{pullsecretSecret("second", "h1")}, false},
		{"another secret", &first, app, []images.Source{pullsecretSecret("second", "h2")}, true},
		{"one of several", &first, app, []images.Source{pullsecretSecret("second", "h2"), first}, false},
		{"no secret", &first, app, nil, true},
		{"another tag of the image", &first, "r.io/app:2", []images.Source{first}, false},
		{"another name of the image", &first, "r.io/other:1", []images.Source{first}, true},
		{"the same service account", &robot, app, []images.Source{account("robot")}, false},
		{"another service account", &robot, app, []images.Source{account("other")}, true},
		{"a secret where it was a service account", &robot, app, []images.Source{first}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			r := open(t, root, policy(t, ""))
			assert.Must(t, r.Intend(app))
			r.Pulled(app, id, tc.by)
			for _, when := range []string{"at once", "after a restart"} {
				assert.Equal(t, tc.want, r.MustPull(tc.image, id, of(tc.theirs...)), "%s: must pull", when)
				r = open(t, root, policy(t, ""))
			}
		})
	}
}

func TestPolicies(t *testing.T) {
	for _, tc := range []struct {
		policy            PullPolicy
		preloaded, pulled bool // whether it must be pulled by a pod without credentials
	}{
		{policy(t, "NeverVerify"), false, false},
		{policy(t, "NeverVerifyPreloadedImages"), false, true},
		{policy(t, "NeverVerifyAllowlistedImages", "r.io/app"), false, false},
		{policy(t, "NeverVerifyAllowlistedImages", "r.io/*"), false, false},
		{policy(t, "NeverVerifyAllowlistedImages", "r.io/ap"), true, true},
		{policy(t, "AlwaysVerify"), true, true},
	} {
		r, first := open(t, t.TempDir(), tc.policy), pullsecretSecret("first", "h1")
		assert.Equal(t, tc.preloaded, r.MustPull(app, id, of()), "A-IMG-8 %v: preloaded must be pulled", tc.policy)
		assert.Must(t, r.Intend(app))
		assert.Equal(t, tc.pulled, r.MustPull(app, id, of()), "A-IMG-8 %v: while it is pulled: must be pulled", tc.policy)
		r.Pulled(app, id, &first)
		assert.Equal(t, tc.pulled, r.MustPull(app, id, of()), "A-IMG-8 %v: pulled must be pulled", tc.policy)
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, pattern, want string
	}{
		{"Sometimes", "", `unknown policy "Sometimes"`},
		{"AlwaysVerify", "r.io/app", "it belongs to the policy NeverVerifyAllowlistedImages, not AlwaysVerify"},
		{"NeverVerifyAllowlistedImages", "r.io/a*", "only patterns ending with '/*' are allowed: r.io/a*"},
		{"NeverVerifyAllowlistedImages", "/*", "at least registry hostname is required"},
		{"NeverVerifyAllowlistedImages", "r.io/app:1", "neither tag nor digest is accepted in an image reference: r.io/app:1"},
		{"NeverVerifyAllowlistedImages", " r.io/app", "leading/trailing spaces are not allowed"},
		{"NeverVerifyAllowlistedImages", "R", "failed to parse as an image name"},
	} {
		var patterns []string
		if tc.pattern != "" {
			patterns = []string{tc.pattern}
		}
		assert.ErrorContains(t, tc.want, assert.ErrorOf(NewPullPolicy(kubelet.ImagePullCredentialsVerificationPolicy(tc.name), patterns)), "policy ", tc.name, ", pattern ", tc.pattern)
	}
}

// TestCutOff: a pull whose end the agent did not see lets nobody use the image
// without a proof; one of an image that did not come is no record.
func TestCutOff(t *testing.T) {
	root := t.TempDir()
	r := open(t, root, policy(t, ""))
	for _, image := range []string{app, "r.io/absent:1"} {
		assert.Must(t, r.Intend(image))
	}
	r = open(t, root, policy(t, ""), images.Image{ID: id, Tags: []string{app}}, images.Image{ID: "sha256:2", Tags: []string{"r.io/preloaded:1"}})
	assert.True(t, r.MustPull(app, id, of(pullsecretSecret("first", "h1"))), "A-IMG-8: an image whose pull was cut off may be used")
	assert.True(t, !r.MustPull("r.io/preloaded:1", "sha256:2", of()), "A-IMG-8: a preloaded image must be pulled")
	assert.Equal(t, 1, len(files(t, filepath.Join(root, "image_manager/pulling"))), "intents are left")
}

// TestTwoPulls: the intent stays until the last of an image's pulls has ended.
func TestTwoPulls(t *testing.T) {
	root := t.TempDir()
	r := open(t, root, policy(t, ""))
	for range 2 {
		assert.Must(t, r.Intend(app))
	}
	for _, want := range []int{1, 0} {
		r.Failed(app)
		assert.Equal(t, want, len(files(t, filepath.Join(root, "image_manager/pulling"))), "intents")
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries := assert.Get(os.ReadDir(dir)).Must(t)
	var out []string
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}

// TestKubeletsRecords: records that the kubelet 1.36 has written are read.
func TestKubeletsRecords(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "image_manager/pulled")
	assert.Must(t, os.MkdirAll(dir, 0o700))
	// The kubelet's hash of the user name "u" and the password "p".
	const hash = "edbd57ca9372e64eb1c9070ecf3a049ac553596b0529acf034c7a71d4e618e88"
	write(t, dir, filepath.Base(folder(dir).path(id)), `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2026-01-01T00:00:00Z","imageRef":"sha256:1",
		"credentialMapping":{"r.io/app":{"kubernetesSecrets":[{"uid":"u1","namespace":"ns","name":"first","credentialHash":"`+hash+`"}]}}}`)
	r := open(t, root, policy(t, ""))
	assert.True(t, !r.MustPull(app, id, of(pullsecretSecret("second", hash))), "A-IMG-8: the record of the kubelet does not count")
	record := assert.Get(r.pulled.pulled(id)).Must(t)
	want := []kubelet.ImagePullSecret{
		{UID: "u1", Namespace: "ns", Name: "first", CredentialHash: hash}, {UID: "uid-second", Namespace: "ns", Name: "second", CredentialHash: hash},
	}
	assert.Deep(t, "secrets after a match", want, record.CredentialMapping["r.io/app"].KubernetesSecrets)
}

// TestUnreadable: what can't be read forces a pull, and is made anew by it.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	r := open(t, root, policy(t, ""))
	assert.Must(t, r.Intend(app))
	r.Pulled(app, id, nil)
	write(t, string(r.pulled), filepath.Base(r.pulled.path(id)), "{")
	assert.True(t, r.MustPull(app, id, of()), "A-IMG-8: an unreadable record lets everybody use the image")
	r.Pulled(app, id, nil)
	assert.True(t, !r.MustPull(app, id, of()), "A-IMG-8: the record was not made anew")
	first := pullsecretSecret("first", "h")
	r.Pulled("r.io/private:1", "sha256:3", &first)
	assert.True(t, r.MustPull("r.io/private:1", "sha256:3", func() ([]images.Source, error) { return nil, errors.New("unreadable secret") }),
		"A-IMG-8: a pod whose secrets can't be read may use the image")
}

// A restart after a power cut may find no API server to read Services from.
func TestKeptSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	path := filepath.Join(disk.Dir, "services.json")
	disk.Settle()
	before := &kept{path: path}
	assert.Must(t, before.write([]any{service("default", "db", "10.0.0.1")}))
	disk.Cut()
	after := &kept{path: path}
	err := after.read()
	assert.True(t, err == nil && after.services != nil && len(after.services.List()) == 1, "after a power cut: %v, %v", after.services, err)
}

// Without its intent, an image whose pull a power cut has ended would pass for a
// preloaded one.
func TestIntentSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	records := open(t, disk.Dir, policy(t, "NeverVerifyPreloadedImages"))
	disk.Settle()
	assert.Must(t, records.Intend("example.com/secret:1"))
	disk.Cut()
	intended, err := records.pulling.intended("example.com/secret:1")
	assert.True(t, intended && err == nil, "after a power cut: intended %v, %v", intended, err)
}
