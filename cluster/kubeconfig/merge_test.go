package kubeconfig

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/internal/assert"
)

const server = "https://127.0.0.1:6443"

// admin is the kubeconfig of a new cluster.
func admin(t *testing.T, server string) (*pki.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	keys := assert.Get(pki.Open(pki.Config{Dir: filepath.Join(dir, "pki"), Addresses: []net.IP{net.IPv4(127, 0, 0, 1)}})).Must(t)
	path := filepath.Join(dir, "kubeconfig")
	assert.Must(t, keys.AdminKubeconfig(path, "lifepod", server))
	return keys, path
}

const others = `apiVersion: v1
kind: Config
preferences: {}
clusters:
- name: work
  cluster: {server: "https://work.example:6443", certificate-authority: ca.crt}
users:
- name: me
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}}
contexts:
- name: work
  context: {cluster: work, user: me, namespace: mine, extensions: [{name: x, extension: {a: 1}}]}
current-context: work
`

func write(t *testing.T, text string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	assert.Must(t, os.WriteFile(path, []byte(text), mode))
	assert.Must(t, os.Chmod(path, mode))
	return path
}

func text(t *testing.T, path string) string {
	t.Helper()
	all := assert.Get(os.ReadFile(path)).Must(t)
	return string(all)
}

// TestMergeAndRemove: what the user had is the same afterwards, and so is the mode.
func TestMergeAndRemove(t *testing.T) {
	_, from := admin(t, server)
	path := write(t, others, 0o640)
	link := filepath.Join(t.TempDir(), "link")
	assert.Must(t, os.Symlink(path, link))
	plain, err := clientcmd.LoadFromFile(path)
	assert.Must(t, err)
	want, err := clientcmd.Write(*plain)
	assert.Must(t, err)
	assert.Must(t, Merge(Config{Admin: from, Into: File{Path: link}, Context: "lifepod"}))
	config, err := clientcmd.LoadFromFile(path)
	assert.Must(t, err)
	assert.True(t, config.CurrentContext == "work" && config.Contexts["lifepod"] != nil && config.Clusters["lifepod"].Server == server,
		"merged: %s", text(t, path))
	assert.True(t, len(config.AuthInfos["lifepod"].ClientKeyData) != 0 && config.AuthInfos["me"].Exec.Command == "login", "merged: %s", text(t, path))
	assert.Must(t, Remove(from))
	assert.Deep(t, "removed", string(want), text(t, path))
	info, err := os.Lstat(path)
	assert.Must(t, err)
	got := info.Mode().Perm()
	assert.True(t, got == 0o640, "mode %o, want 640", got)
	info, err = os.Lstat(link)
	assert.True(t, err == nil && info.Mode()&fs.ModeSymlink != 0, "the link is gone: %v", err)
	left, err := os.ReadDir(filepath.Dir(path))
	assert.True(t, err == nil && len(left) == 1, "left behind: %v %v", left, err)
}

// TestMergeNew: without a file it is made, for nobody else to read, and its cluster
// is the current one.
func TestMergeNew(t *testing.T) {
	_, from := admin(t, server)
	path := filepath.Join(t.TempDir(), ".kube", "config")
	into := File{Path: path, Create: true}
	if os.Geteuid() == 0 {
		into.Owner = &Owner{UID: 65534, GID: 65534}
	}
	assert.Must(t, Merge(Config{Admin: from, Into: into, Context: "lifepod"}))
	info := assert.Get(os.Stat(path)).Must(t)
	got := info.Mode().Perm()
	assert.True(t, got == 0o600, "mode %o, want 600", got)
	config, err := clientcmd.LoadFromFile(path)
	assert.True(t, err == nil && config.CurrentContext == "lifepod", "current context %q, %v", config.CurrentContext, err)
	assert.Must(t, os.Remove(path)) // by the user
	assert.NoError(t, Remove(from))
}

// TestMergeRefuses: what has the name and is another's stays.
func TestMergeRefuses(t *testing.T) {
	_, from := admin(t, server)
	for _, tc := range []struct{ name, old, new, want string }{
		{name: "another cluster", old: "name: work", new: "name: lifepod",
			want: `"lifepod" is the cluster at https://work.example:6443 there, this one is at https://127.0.0.1:6443: choose another name`},
		{name: "another user", old: "name: me", new: "name: lifepod", want: `"lifepod" is another user there: choose another name`},
		{name: "context of others", old: "- name: work\n  context", new: "- name: lifepod\n  context",
			want: `context "lifepod" is of cluster "work" and user "me": choose another name`},
		{name: "not YAML", old: "kind: Config", new: "kind: [", want: "yaml: line 3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write(t, strings.ReplaceAll(others, tc.old, tc.new), 0o600)
			before := text(t, path)
			err := Merge(Config{Admin: from, Into: File{Path: path}, Context: "lifepod", Use: true})
			assert.True(t, err != nil && strings.Contains(err.Error(), tc.want) && strings.Contains(err.Error(), path),
				"got %v, want …%s", err, tc.want)
			assert.Deep(t, "is changed", before, text(t, path))
		})
	}
	path := write(t, others, 0o600)
	assert.Must(t, os.WriteFile(path+".lock", nil, 0o600))
	assert.ErrorContains(t, path+".lock is there", Merge(Config{Admin: from, Into: File{Path: path}, Context: "lifepod"}), "locked")
}

// TestMergeAgain: a cluster that was made anew at its address takes its own place,
// and one that moved, too; the user's namespace stays.
func TestMergeAgain(t *testing.T) {
	path := write(t, "", 0o600)
	keys, from := admin(t, server)
	merge := func(from string) error { return Merge(Config{Admin: from, Into: File{Path: path}, Context: "lifepod"}) }
	assert.Must(t, merge(from))
	config := assert.Get(clientcmd.LoadFromFile(path)).Must(t)
	config.Contexts["lifepod"].Namespace = "mine"
	assert.Must(t, clientcmd.WriteToFile(*config, path))
	moved := filepath.Join(filepath.Dir(from), "kubeconfig")
	assert.Must(t, keys.AdminKubeconfig(moved, "lifepod", "https://127.0.0.1:7443"))
	assert.Must(t, Renew(from))
	config = assert.Get(clientcmd.LoadFromFile(path)).Must(t)
	assert.True(t, config.Clusters["lifepod"].Server == "https://127.0.0.1:7443" && config.Contexts["lifepod"].Namespace == "mine",
		"moved: %s", text(t, path))
	_, anew := admin(t, "https://127.0.0.1:7443")
	assert.NoError(t, merge(anew), "made anew")
	_, another := admin(t, "https://127.0.0.1:8443")
	assert.Fails(t, merge(another), "another cluster takes the place")
}

// TestUserFile: whose file it is.
func TestUserFile(t *testing.T) {
	t.Setenv("SUDO_UID", "")
	t.Setenv("HOME", "/home/me")
	for _, tc := range []struct{ variable, want string }{
		{"", "/home/me/.kube/config"},
		{":/k/one:/k/two", "/k/one"},
	} {
		t.Setenv("KUBECONFIG", tc.variable)
		got, err := UserFile()
		assert.True(t, err == nil && got.Path == tc.want, "KUBECONFIG=%q: %q, %v, want %q", tc.variable, got.Path, err, tc.want)
	}
}
