package objects

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	config "k8s.io/kubelet/config/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

const head = "kind: CredentialProviderConfig\napiVersion: kubelet.config.k8s.io/v1\n"

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func provider1(name string) string {
	return "- name: " + name + "\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  matchImages: [\"*.r.io\"]\n  defaultCacheDuration: 1h\n"
}

func providerNames(list []config.CredentialProvider) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Name)
	}
	return out
}

// TestRead: A-IMG-7, a file, and a folder of files in the order of their names.
func TestRead(t *testing.T) {
	file, dir := t.TempDir(), t.TempDir()
	one := write(t, file, "one", head+"providers:\n"+provider1("a")+"  args: [x]\n  env: [{name: K, value: V}]\n")
	write(t, dir, "2.yml", head+"providers:\n"+provider1("second"))
	write(t, dir, "1.json", `{"kind":"CredentialProviderConfig","apiVersion":"kubelet.config.k8s.io/v1beta1","providers":[
		{"name":"first","apiVersion":"credentialprovider.kubelet.k8s.io/v1beta1","matchImages":["r.io"],"defaultCacheDuration":"0s"}]}`)
	write(t, dir, "notes.txt", "not read")
	for path, want := range map[string][]string{one: {"a"}, dir: {"first", "second"}} {
		got, err := ReadCredentialProviders(path)
		assert.NoError(t, err, path)
		assert.Deep(t, fmt.Sprintf("providers of %s", path), want, providerNames(got))
	}
}

func TestReadRefuses(t *testing.T) {
	base := provider1("p")
	token := func(text string) string { return head + "providers:\n" + base + "  tokenAttributes: " + text + "\n" }
	for _, tc := range []struct{ name, text, want string }{
		{"another kind", "kind: Pod\napiVersion: v1\n", `it is "Pod" of "v1", want CredentialProviderConfig of one of`},
		{"an unknown field", head + "providers:\n" + base + "  matchImage: x\n", `unknown field "matchImage"`},
		{"no YAML", head + "providers:\n- name: p\n  matchImages: [a]\n apiVersion: v1\n", "line 6: YAML syntax: did not find expected key"},
		{"nothing", head, "providers: Required value: at least 1 item in plugins is required"},
		{"twice", head + "providers:\n" + base + base, `duplicate provider name "p" found in configuration file(s)`},
		{"a path", head + "providers:\n" + provider1("a/b"), `providers[0].name: Invalid value: "a/b": provider name cannot contain '/'`},
		{"a folder", head + "providers:\n" + provider1(".."), `provider name cannot be '..'`},
		{"a version", strings.Replace(head+"providers:\n"+base, "k8s.io/v1\n  match", "k8s.io/v2\n  match", 1), `providers[0].apiVersion: Unsupported value: "credentialprovider.kubelet.k8s.io/v2"`},
		{"no images", strings.Replace(head+"providers:\n"+base, `["*.r.io"]`, "[]", 1), "providers[0].matchImages: Required value: at least 1 item in matchImages is required"},
		{"no duration", strings.Replace(head+"providers:\n"+base, "  defaultCacheDuration: 1h\n", "", 1), "providers[0].defaultCacheDuration: Required value"},
		{"a negative duration", strings.Replace(head+"providers:\n"+base, "1h", "-1h", 1), "must be greater than or equal to 0"},
		{"no audience", token("{requireServiceAccount: true, cacheType: Token}"), "tokenAttributes.serviceAccountTokenAudience: Required value"},
		{"no requirement", token("{serviceAccountTokenAudience: a, cacheType: Token}"), "tokenAttributes.requireServiceAccount: Required value"},
		{"no cache type", token("{serviceAccountTokenAudience: a, requireServiceAccount: true}"), "cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token"},
		{"a cache type", token("{serviceAccountTokenAudience: a, requireServiceAccount: true, cacheType: Pod}"), `cacheType: Unsupported value: "Pod"`},
		{"keys without need", token("{serviceAccountTokenAudience: a, requireServiceAccount: false, cacheType: Token, requiredServiceAccountAnnotationKeys: [k]}"), "requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set"},
		{"keys twice", token("{serviceAccountTokenAudience: a, requireServiceAccount: true, cacheType: Token, requiredServiceAccountAnnotationKeys: [k], optionalServiceAccountAnnotationKeys: [k]}"), "annotation keys cannot be both required and optional"},
		{"a token of the old API", strings.Replace(token("{serviceAccountTokenAudience: a, requireServiceAccount: true, cacheType: Token}"), "k8s.io/v1\n  match", "k8s.io/v1beta1\n  match", 1), "tokenAttributes is only supported for credentialprovider.kubelet.k8s.io/v1 API version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write(t, t.TempDir(), "config.yaml", tc.text)
			_, err := ReadCredentialProviders(path)
			assert.True(t, err != nil && strings.Contains(err.Error(), tc.want) && strings.Contains(err.Error(), path),
				"error %v, want %q and the path", err, tc.want)
		})
	}
	assert.ErrorContains(t, "no file is given, want --image-credential-provider-config", assert.ErrorOf(ReadCredentialProviders("")), "no path")
	assert.ErrorContains(t, "no configuration files found in directory", assert.ErrorOf(ReadCredentialProviders(t.TempDir())), "an empty folder")
}
