package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/lifepod/lifepod/internal/assert"
)

// withDropIns is the configuration of a root with drop-ins.
func withDropIns(t *testing.T, dropIns map[string]string) (p Paths, config map[string]any, err error) {
	t.Helper()
	p = locate(t, t.TempDir())
	assert.Must(t, os.MkdirAll(p.DropIns(), 0o700))
	for name, text := range dropIns {
		assert.Must(t, os.WriteFile(filepath.Join(p.DropIns(), name), []byte(text), 0o600))
	}
	text, err := containerdConfig(p, host{snapshotter: overlayfs})
	if err == nil {
		assert.Must(t, toml.Unmarshal(text, &config))
	}
	return p, config, err
}

// A handler needs a name and a type; what it doesn't say is as the handler runc has it.
// Later files come after earlier ones, and other files are left out.
func TestDropIns(t *testing.T) {
	const runtimes = "plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes."
	p, config, err := withDropIns(t, map[string]string{
		"1.toml": "version = 3\n[" + runtimes + "test-handler]\nruntime_type = 'io.containerd.runc.v2'\n" +
			"[" + runtimes + "crun]\nruntime_type = 'io.containerd.runc.v2'\n[" + runtimes + "crun.options]\nBinaryName = '/usr/bin/other'\n",
		"2.toml": "[" + runtimes + "crun.options]\nBinaryName = '/usr/bin/crun'\n" +
			"[" + runtimes + "kata]\nruntime_type = 'io.containerd.kata.v2'\n" +
			"[" + runtimes + "own]\nruntime_type = 'io.containerd.runc.v2'\nruntime_path = '/opt/shim'\n",
		"README": "no drop-in",
	})
	assert.Must(t, err)
	options := func(binary string) map[string]any {
		return map[string]any{"BinaryName": binary, "Root": p.RunDir + "/runc", "SystemdCgroup": false}
	}
	handler := func(binary string) map[string]any {
		return map[string]any{"runtime_type": "io.containerd.runc.v2", "runtime_path": p.Shim(), "sandboxer": "podsandbox", "options": options(binary)}
	}
	want := map[string]any{
		"runc": handler(p.Runc()), "test-handler": handler(p.Runc()), "crun": handler("/usr/bin/crun"),
		"kata": map[string]any{"runtime_type": "io.containerd.kata.v2"},
		"own":  map[string]any{"runtime_type": "io.containerd.runc.v2", "runtime_path": "/opt/shim", "sandboxer": "podsandbox"},
	}
	assert.Deep(t, "handlers", want, at(t, config, "plugins", "io.containerd.cri.v1.runtime", "containerd", "runtimes"))
}

// A drop-in that can't be read, has no effect, or says what lifepod says is an error that
// names the file and the place.
func TestDropInsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[plugins\n": "line 1, column 9",
		"version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.a]\n": "version = 2: want 3 or 4",
		"[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.a]\n":              "is of version 2, and has no effect",
		"root = '/elsewhere'\n": "root: lifepod says that itself",
		"[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/etc/cni'\n":                                 "plugins.'io.containerd.cri.v1.runtime'.cni.conf_dir: lifepod says that itself",
		"[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\nruntime_type = 'io.containerd.x'\n": "containerd.runtimes.runc.runtime_type: lifepod says that itself",
		"plugins = 3\n": "plugins: lifepod says that itself",
	} {
		p, _, err := withDropIns(t, map[string]string{"a.toml": text})
		assert.True(t, err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), filepath.Join(p.DropIns(), "a.toml")),
			"%q: error %v, want %q", text, err, want)
	}
}
