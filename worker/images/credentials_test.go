package images

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func jsonSecret(name, auths string) v1.Secret {
	return v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "uid-1"},
		Type:       v1.SecretTypeDockerConfigJson,
		Data:       map[string][]byte{v1.DockerConfigJsonKey: []byte(`{"auths":{` + auths + `}}`)},
	}
}

func usernames(credentials []credential) []string {
	var names []string
	for _, c := range credentials {
		names = append(names, c.username+":"+c.password)
	}
	return names
}

// A-IMG-7: every match, most specific location first.
func TestLookup(t *testing.T) {
	secrets := []v1.Secret{
		jsonSecret("one", `
			"r.io":                        {"username":"host","password":"p"},
			"https://r.io/v2/team":        {"username":"team","password":"p"},
			"*.r.io":                      {"username":"any","password":"p"},
			"r.io:5000":                   {"username":"port","password":"p"},
			"https://index.docker.io/v1/": {"username":"hub","password":"p"},
			"[::1]:5000":                  {"username":"six","password":"p"}`),
		jsonSecret("two", `"r.io": {"username":"second","password":"p"}`),
		{Type: v1.SecretTypeDockercfg, Data: map[string][]byte{v1.DockerConfigKey: []byte(
			`{"old.io": {"auth":"` + base64.StdEncoding.EncodeToString([]byte("old:p:q")) + `"}}`)}},
		{Type: v1.SecretTypeOpaque, Data: map[string][]byte{v1.DockerConfigJsonKey: []byte(`not read`)}},
		{Type: v1.SecretTypeDockerConfigJson},
	}
	cases := []struct {
		repository string
		want       []string
	}{
		{"r.io/team/app", []string{"team:p", "host:p", "second:p"}},
		{"r.io/teams", []string{"team:p", "host:p", "second:p"}},
		{"r.io/app", []string{"host:p", "second:p"}},
		{"eu.r.io/app", []string{"any:p"}},
		{"a.eu.r.io/app", nil},
		{"r.io:5000/app", []string{"port:p"}},
		{"r.io:5001/app", nil},
		{"old.io/app", []string{"old:p:q"}},
		{"docker.io/library/app", []string{"hub:p"}},
		{"other.io/app", nil},
	}
	ring := assert.Get(secretKeyring(secrets)).Must(t)
	for _, c := range cases {
		assert.Deep(t, fmt.Sprintf("lookup(%q)", c.repository), c.want, usernames(ring.lookup(c.repository)))
	}
}

func TestUnreadableSecret(t *testing.T) {
	broken := jsonSecret("broken", `"r.io": {"auth":"bm9jb2xvbg=="}`)
	for _, c := range []struct {
		secret v1.Secret
		want   string
	}{
		{broken, `read pull secret ns/broken: entry "r.io": auth is not base64 of username:password`},
		{jsonSecret("bad", `"r.io": {"auth":"%"}`), `read pull secret ns/bad: entry "r.io": auth is not base64: illegal base64 data at input byte 0`},
		{jsonSecret("cut", `"r.io": `), `read pull secret ns/cut: invalid character '}' looking for beginning of value`},
	} {
		assert.Error(t, c.want, assert.ErrorOf(secretKeyring([]v1.Secret{c.secret})), "error of secret ", c.secret.Name)
	}
}

func TestAuthPadding(t *testing.T) {
	for _, auth := range []string{"dTpw", "dTpwdw==", "dTpwdw", " dTpwdw== "} {
		got, err := dockerEntry{Username: "ignored", Auth: auth}.credential()
		assert.True(t, err == nil && got.username == "u", "auth %q: want user u, got %+v, %v", auth, got, err)
	}
}

func TestNodeKeyring(t *testing.T) {
	folder := t.TempDir()
	absent, present := filepath.Join(folder, "absent"), filepath.Join(folder, "config.json")
	assert.Must(t, os.WriteFile(present, []byte(`{"auths":{"r.io":{"username":"node","password":"p"}}}`), 0o600))
	ring := assert.Get(nodeKeyring(t.Context(), []string{absent, present}, "r.io/app")).Must(t)
	found := ring.lookup("r.io/app")
	diff := cmp.Diff([]string{"node:p"}, usernames(found))
	assert.Require(t, diff == "", "node credentials (-want +got):\n%s", diff)
	assert.True(t, found[0].source == nil, "a credential of the node belongs to everyone, got source %+v", found[0].source)
}

// TestCredentialHelpers: a program that docker login has given the credentials to is asked for those of the image's registry.
func TestCredentialHelpers(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	assert.Must(t, os.WriteFile(filepath.Join(folder, "docker-credential-own"), []byte(`#!/bin/sh
read server
case $1$server in
getnone.io) echo credentials not found in native keychain; exit 1;;
getlocked.io) echo the store is locked; exit 2;;
get*) echo "{\"Username\": \"for\", \"Secret\": \"$server\"}";;
esac
`), 0o700))
	config := filepath.Join(folder, "config.json")
	assert.Must(t, os.WriteFile(config, []byte(`{"auths": {"r.io": {"username": "node", "password": "p"}}, "credsStore": "own", "credHelpers": {"gone.io": "gone", "path.io": "../own"}}`), 0o600))
	for repository, want := range map[string]string{
		"r.io/app":              "for:r.io node:p",
		"docker.io/library/app": "for:https://index.docker.io/v1/",
		"none.io/app":           "",
		"locked.io/app":         "credential helper for locked.io: docker-credential-own: exit status 2: the store is locked",
		"gone.io/app":           `credential helper for gone.io: docker-credential-gone: exec: "docker-credential-gone": executable file not found in $PATH`,
		"path.io/app":           `credential helper "../own" is no name of a program docker-credential-…`,
	} {
		ring, err := nodeKeyring(t.Context(), []string{config}, repository)
		var got string
		if err == nil {
			got = strings.Join(usernames(ring.lookup(repository)), " ")
		} else {
			got = strings.TrimPrefix(err.Error(), "read registry credentials of the node from "+config+": ")
		}
		assert.Equal(t, want, got, "%s", repository)
	}
}
