package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	config "k8s.io/kubelet/config/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

// script writes a plugin that notes its requests and answers with text.
func script(t *testing.T, dir, answer string) {
	t.Helper()
	text := "#!/bin/sh\ncat >> \"$REQUESTS\"; echo \" $* $GREETING\" >> \"$REQUESTS\"\n" + answer + "\n"
	assert.Must(t, os.WriteFile(filepath.Join(dir, "p"), []byte(text), 0o700))
}

func response(key, duration, auth string) string {
	if duration != "" {
		duration = `,"cacheDuration":"` + duration + `"`
	}
	return `cat <<'END'
{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"` + key + `"` + duration + `,"auth":{` + auth + "}}\nEND"
}

type node struct {
	*CredentialProviders
	requests string
	log      *bytes.Buffer
}

// nodeWith is a node with one provider whose plugin is a script.
func nodeWith(t *testing.T, answer string, accounts ServiceAccounts, change func(*config.CredentialProvider)) node {
	t.Helper()
	dir := t.TempDir()
	script(t, dir, answer)
	requests := filepath.Join(dir, "requests")
	p := config.CredentialProvider{
		Name: "p", APIVersion: "credentialprovider.kubelet.k8s.io/v1", MatchImages: []string{"*.r.io", "r.io:5000/team"},
		DefaultCacheDuration: &metav1.Duration{Duration: time.Hour},
		Args:                 []string{"get", "credentials"}, Env: []config.ExecEnvVar{{Name: "REQUESTS", Value: requests}, {Name: "GREETING", Value: "hello"}},
	}
	change(&p)
	var log bytes.Buffer
	providers := assert.Get(NewCredentialProviders([]config.CredentialProvider{p}, dir, accounts, slog.New(slog.NewTextHandler(&log, nil)))).Must(t)
	return node{CredentialProviders: providers, requests: requests, log: &log}
}

func unchanged(*config.CredentialProvider) {}

func (n node) asked(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(n.requests)
	assert.Require(t, err == nil || errors.Is(err, os.ErrNotExist), "%v", err)
	var lines []string
	for line := range strings.Lines(string(data)) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// TestLogins: A-IMG-7, what goes in and out of a plugin.
func TestLogins(t *testing.T) {
	n := nodeWith(t, response("Image", "", `"eu.r.io/b":{"username":"u","password":"p"},"*.r.io":{"username":"v","password":"q"}`), nil, unchanged)
	want := []images.Login{{Location: "*.r.io", Username: "v", Password: "q"}, {Location: "eu.r.io/b", Username: "u", Password: "p"}}
	assert.Deep(t, "logins", want, n.Logins(t.Context(), "eu.r.io/a", nil))
	got := n.Logins(t.Context(), "other.io/a", nil)
	assert.True(t, got == nil, "an image that is not the plugin's: %v", got)
	wantAsked := []string{`{"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"eu.r.io/a"} get credentials hello`}
	assert.Deep(t, "asked", wantAsked, n.asked(t))
}

// TestCache: what a plugin's answer is good for, and for how long.
func TestCache(t *testing.T) {
	auth := `"*.r.io":{"username":"u","password":"p"}`
	pulls := []string{"eu.r.io/a", "eu.r.io/a", "eu.r.io/b", "us.r.io/a"}
	for _, tc := range []struct {
		name, key, duration string
		defaultDuration     time.Duration
		want                int
	}{
		{"by image", "Image", "", time.Hour, 3},
		{"by registry", "Registry", "", time.Hour, 2},
		{"for all", "Global", "", time.Hour, 1},
		{"the plugin's word over the default", "Global", "1h", 0, 1},
		{"not at all, the plugin says", "Global", "0s", time.Hour, 4},
		{"not at all by default", "Global", "", 0, 4},
		{"a key that is none is no answer", "Pod", "", time.Hour, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := nodeWith(t, response(tc.key, tc.duration, auth), nil, func(p *config.CredentialProvider) {
				p.DefaultCacheDuration.Duration = tc.defaultDuration
			})
			for _, image := range pulls {
				n.Logins(t.Context(), image, nil)
			}
			got := len(n.asked(t))
			assert.True(t, got == tc.want, "the plugin ran %d times, want %d", got, tc.want)
		})
	}
}

// TestPluginFails: what is wrong is reported in one line, the answer itself never,
// and the pull goes on without.
func TestPluginFails(t *testing.T) {
	for _, tc := range []struct{ name, answer, want string }{
		{"an exit code", "echo no network >&2; exit 3", "exit status 3: no network"},
		{"an answer that is none", "echo secret", "error decoding credential provider plugin response from stdout"},
		{"another version", `echo '{"kind":"CredentialProviderResponse","apiVersion":"v1"}'`, "did not match expected apiVersion:credentialprovider.kubelet.k8s.io/v1, actual apiVersion:v1"},
		{"another kind", `echo '{"kind":"Secret","apiVersion":"credentialprovider.kubelet.k8s.io/v1"}'`, `unexpected Kind: \"Secret\"`},
		{"a flood", "head -c 2000000 /dev/zero", "it answered more than 1048576 bytes"},
		{"a child that stays", "sleep 1000 & sleep 1000", "context deadline exceeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := nodeWith(t, tc.answer, nil, unchanged)
			n.list[0].plugin.timeout = 200 * time.Millisecond
			if tc.name != "a child that stays" {
				n.list[0].plugin.timeout = time.Minute
			}
			got := n.Logins(t.Context(), "eu.r.io/a", nil)
			assert.True(t, got == nil, "logins %v", got)
			text := n.log.String()
			assert.True(t, strings.Contains(text, tc.want) && !strings.Contains(text, "secret") && strings.Count(text, "\n") == 1,
				"told:\n%s\nwant %q", text, tc.want)
		})
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	list := []config.CredentialProvider{{Name: "absent"}}
	for folder, want := range map[string]string{
		"":                              "credential provider plugins: no folder is given",
		dir:                             "credential provider plugin absent: ",
		filepath.Join(dir, "no folder"): "credential provider plugins: stat ",
	} {
		_, err := NewCredentialProviders(list, folder, nil, slog.New(slog.DiscardHandler))
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), want), "error %v, want %s…", err, want)
	}
}

// accounts give each pod a token of its own, always the same.
type accounts struct {
	audience string
	pod      string
}

func (a *accounts) ServiceAccount(_ context.Context, namespace, name string) (*v1.ServiceAccount, error) {
	if name == "gone" {
		return nil, errors.New("not there")
	}
	return &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "sa-uid", Namespace: namespace, Name: name, Annotations: map[string]string{"team": "shop", "other": "x"}}}, nil
}

func (a *accounts) Token(_ context.Context, pod *v1.Pod, projection *v1.ServiceAccountTokenProjection) (string, error) {
	a.audience, a.pod = projection.Audience, pod.Name
	return "token-of-" + pod.Name, nil
}

func podOf(name, account string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u"}, Spec: v1.PodSpec{ServiceAccountName: account}}
}

func withToken(by config.ServiceAccountTokenCacheType, require bool, keys ...string) func(*config.CredentialProvider) {
	return func(p *config.CredentialProvider) {
		p.TokenAttributes = &config.ServiceAccountTokenAttributes{
			ServiceAccountTokenAudience: "registry", CacheType: by, RequireServiceAccount: new(require), RequiredServiceAccountAnnotationKeys: keys,
		}
	}
}

// TestTokens: a plugin is given the token of the pod's service account (KEP-4412),
// and what it gives belongs to that account.
func TestTokens(t *testing.T) {
	auth := response("Registry", "", `"*.r.io":{"username":"u","password":"p"}`)
	for _, tc := range []struct {
		name   string
		change func(*config.CredentialProvider)
		pods   []*v1.Pod
		want   []string // what was asked, image aside
	}{
		{"by account", withToken("ServiceAccount", true, "team"), []*v1.Pod{podOf("a", "robot"), podOf("b", "robot"), podOf("c", "other")},
			[]string{`"serviceAccountToken":"token-of-a","serviceAccountAnnotations":{"team":"shop"}`, `"serviceAccountToken":"token-of-c","serviceAccountAnnotations":{"team":"shop"}`}},
		{"by token", withToken("Token", true), []*v1.Pod{podOf("a", "robot"), podOf("a", "robot"), podOf("b", "robot")},
			[]string{`"serviceAccountToken":"token-of-a"`, `"serviceAccountToken":"token-of-b"`}},
		{"an account that did not opt in", withToken("Token", true, "opt-in"), []*v1.Pod{podOf("a", "robot")}, nil},
		{"an account that is gone", withToken("Token", true), []*v1.Pod{podOf("a", "gone")}, nil},
		{"a pod without one that is needed", withToken("Token", true), []*v1.Pod{podOf("a", "")}, nil},
		{"a pod without one", withToken("Token", false), []*v1.Pod{podOf("a", "")}, []string{""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := nodeWith(t, auth, &accounts{}, tc.change)
			for _, pod := range tc.pods {
				for _, login := range n.Logins(t.Context(), "eu.r.io/a", pod) {
					account := pod.Spec.ServiceAccountName
					assert.True(t, account == "" || login.Source.ServiceAccount.Name == account, "login of %v, want %s's", login.Source, account)
				}
			}
			var want []string
			for _, text := range tc.want {
				if text != "" {
					text = "," + text
				}
				want = append(want, fmt.Sprintf(`{"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"eu.r.io/a"%s} get credentials hello`, text))
			}
			assert.Deep(t, "asked", want, n.asked(t))
		})
	}
}

// TestTokenIsBoundToThePod: and for the audience of the config.
func TestTokenIsBoundToThePod(t *testing.T) {
	a := &accounts{}
	nodeWith(t, "exit 1", a, withToken("Token", true)).Logins(t.Context(), "eu.r.io/a", podOf("web", "robot"))
	assert.True(t, a.audience == "registry" && a.pod == "web", "a token for %q of pod %q, want registry, web", a.audience, a.pod)
}

// TestTokenHandedBack: a token that comes back as the password may not be another
// pod's.
func TestTokenHandedBack(t *testing.T) {
	for by, want := range map[config.ServiceAccountTokenCacheType]int{"ServiceAccount": 0, "Token": 1} {
		n := nodeWith(t, response("Image", "", `"*.r.io":{"username":"u","password":"token-of-a"}`), &accounts{}, withToken(by, true))
		got := len(n.Logins(t.Context(), "eu.r.io/a", podOf("a", "robot")))
		assert.True(t, got == want, "%s: %d logins, want %d: %s", by, got, want, n.log)
	}
}
