package bundle

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/lifepod/lifepod/internal/assert"
)

func locate(t *testing.T, root string) Paths {
	t.Helper()
	return assert.Get(Locate(root, "")).Must(t)
}

// at follows keys into nested tables.
func at(t *testing.T, tree any, keys ...string) any {
	t.Helper()
	for _, key := range keys {
		branch, ok := tree.(map[string]any)
		assert.Require(t, ok, "no table around key %q of %q", key, keys)
		tree = branch[key]
	}
	return tree
}

func TestContainerdConfig(t *testing.T) {
	p := locate(t, `/srv/life "pod`)
	p.Bundle = "/srv/life/bundle/0123"
	for _, snapshotter := range []string{overlayfs, native} {
		text := assert.Get(containerdConfig(p, host{snapshotter: snapshotter, restrictOOMScore: true})).Must(t)
		var got map[string]any
		assert.Must(t, toml.Unmarshal(text, &got))
		runtime := at(t, got, "plugins", "io.containerd.cri.v1.runtime")
		runc := at(t, runtime, "containerd", "runtimes", "runc")
		for what, pair := range map[string][2]any{
			"version":     {int64(4), got["version"]},
			"root":        {p.Root + "/containerd", got["root"]},
			"state":       {p.RunDir + "/state", got["state"]},
			"socket":      {p.Socket(), at(t, got, "plugins", "io.containerd.server.v1.grpc", "address")},
			"oom score":   {true, at(t, runtime, "restrict_oom_score_adj")},
			"cni folder":  {p.CNIConf(), at(t, runtime, "cni", "conf_dir")},
			"shim":        {"/srv/life/bundle/0123/bin/containerd-shim-runc-v2", at(t, runc, "runtime_path")},
			"runc":        {"/srv/life/bundle/0123/bin/runc", at(t, runc, "options", "BinaryName")},
			"cgroups":     {false, at(t, runc, "options", "SystemdCgroup")},
			"pause image": {PauseImage, at(t, got, "plugins", "io.containerd.cri.v1.images", "pinned_images", "sandbox")},
			"snapshotter": {snapshotter, at(t, got, "plugins", "io.containerd.cri.v1.images", "snapshotter")},
			"downloads":   {int64(9), at(t, got, "plugins", "io.containerd.transfer.v1.local", "max_concurrent_downloads")},
			"downloads by CRI, whose other numbers turn the transfer service off": {
				int64(3), at(t, got, "plugins", "io.containerd.cri.v1.images", "max_concurrent_downloads")},
			"streaming": {"127.0.0.1", at(t, got, "plugins", "io.containerd.grpc.v1.cri", "stream_server_address")},
		} {
			assert.Deep(t, what, pair[0], pair[1])
		}
		disabled := got["disabled_plugins"].([]any)
		assert.True(t, !slices.Contains(disabled, any("io.containerd.snapshotter.v1."+snapshotter)), "the snapshotter %s is disabled", snapshotter)
	}
}

func TestCNIConfig(t *testing.T) {
	p := locate(t, "/srv/lifepod")
	n := network{Subnet: prefix("10.5.0.0/16"), Filter: iptables}
	text := assert.Get(cniConfig(p, n)).Must(t)
	var got struct {
		Name    string
		Plugins []map[string]any
	}
	assert.Must(t, json.Unmarshal(text, &got))
	want := []map[string]any{{
		"type": "lifepod-bridge", "bridge": p.Bridge(), "hostPorts": "iptables",
		"capabilities": map[string]any{"portMappings": true},
		"ipam": map[string]any{
			"type": "lifepod-ipam", "dataDir": "/srv/lifepod/ipam", "subnet": "10.5.0.0/16",
			"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
		},
	}}
	assert.Deep(t, "plugins", want, got.Plugins)
}

func TestLocate(t *testing.T) {
	standard, other := locate(t, ""), locate(t, "/srv/lifepod")
	for what, pair := range map[string][2]string{
		"default root":   {"/var/lib/lifepod", standard.Root},
		"default socket": {"/run/lifepod/containerd.sock", standard.Socket()},
		"default bridge": {"lifepod0", standard.Bridge()},
		"default cgroup": {"/lifepod", standard.CgroupParent()},
		"other socket":   {"/run/lifepod-" + other.hash() + "/containerd.sock", other.Socket()},
		"other bridge":   {"lp-" + other.hash(), other.Bridge()},
		"other cgroup":   {"/lifepod-" + other.hash(), other.CgroupParent()},
	} {
		assert.Deep(t, what, pair[0], pair[1])
	}
	assert.True(t, len(other.Bridge()) <= 15, "bridge %q is longer than the kernel takes", other.Bridge())
}

// Nothing is run from a folder that others can change, whatever the command.
func TestLocateRefusesFoldersOfOthers(t *testing.T) {
	root := t.TempDir()
	assert.Must(t, os.Chmod(root, 0o777))
	_, locate := Locate(root, "")
	_, unpack := Unpack(root)
	_, open := open(t.Context(), Config{Root: root}, archive{})
	_, program := ClusterProgram(root)
	for what, err := range map[string]error{"Locate": locate, "Unpack": unpack, "Open": open, "ClusterProgram": program} {
		assert.True(t, err != nil && strings.Contains(err.Error(), "state folder "+root+": others can write to "+root), "%s: %v", what, err)
	}
	left, err := os.ReadDir(root)
	assert.True(t, err == nil && len(left) == 0, "left in the folder: %v, %v", left, err)
}

// A unix socket's address has 108 bytes, and containerd appends to it.
func TestLocateRefusesLongRunDir(t *testing.T) {
	for _, dir := range []string{"/run/" + strings.Repeat("x", 36), "run/lifepod"} {
		_, err := Locate("/srv/lifepod", dir)
		assert.True(t, err != nil && strings.Contains(err.Error(), "at most 40 bytes"), "run folder %q: error %v, want it refused", dir, err)
	}
}
