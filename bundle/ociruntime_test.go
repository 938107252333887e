package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestCrunHandler: containerd has a handler for crun and one for runc. The one for runc stays the default.
func TestCrunHandler(t *testing.T) {
	p := locate(t, t.TempDir())
	p.Bundle = "/b"
	text := assert.Get(containerdConfig(p, host{snapshotter: overlayfs, systemd: true, crun: "/usr/bin/crun"})).Must(t)
	var got map[string]any
	assert.Must(t, toml.Unmarshal(text, &got))
	handlers := at(t, got, "plugins", runtimePlugin, "containerd")
	want := map[string]any{"default_runtime_name": "runc", "runtimes": map[string]any{
		"runc": map[string]any{
			"runtime_type": runcShim, "runtime_path": "/b/bin/containerd-shim-runc-v2", "sandboxer": "podsandbox",
			"options": map[string]any{"BinaryName": "/b/bin/runc", "Root": p.RunDir + "/runc", "SystemdCgroup": true},
		},
		"crun": map[string]any{
			"runtime_type": runcShim, "runtime_path": "/b/bin/containerd-shim-runc-v2", "sandboxer": "podsandbox",
			"options": map[string]any{"BinaryName": "/usr/bin/crun", "Root": p.RunDir + "/crun", "SystemdCgroup": true},
		},
	}}
	assert.Deep(t, "handlers", want, handlers)
}

// A root keeps the handler of crun for pods that have it, also when nobody wants it for new
// ones, and no longer.
func TestCrunStaysForItsPods(t *testing.T) {
	p := locate(t, t.TempDir())
	choose := func(wanted, want string) {
		t.Helper()
		got, err := (&daemon{paths: p, crun: wanted}).chooseCrun()
		assert.True(t, err == nil && got == want, "wanted %q: %q, %v, want %q", wanted, got, err, want)
	}
	choose("", "")
	choose("/usr/bin/crun", "/usr/bin/crun")
	pod := filepath.Join(p.sandboxes(), "a")
	assert.Must(t, os.MkdirAll(pod, 0o700))
	choose("", "/usr/bin/crun")
	choose("/usr/local/bin/crun", "/usr/local/bin/crun")
	assert.Must(t, os.Remove(pod))
	choose("", "")
	assert.Must(t, os.Mkdir(pod, 0o700))
	choose("", "")
}

func TestOCIRuntimeFlag(t *testing.T) {
	var o OCIRuntime
	for text, valid := range map[string]bool{"runc": true, "crun": true, "": false, "kata": false} {
		err := o.Set(text)
		assert.True(t, (err == nil) == valid && (!valid || o.String() == text), "%q: %q, %v", text, o, err)
	}
}

// Nothing is started if crun was asked for and can't be had; runc needs none.
func TestCrunIsNotThere(t *testing.T) {
	p := locate(t, t.TempDir())
	t.Setenv("PATH", t.TempDir())
	program, err := p.settleCrun(t.Context(), Runc)
	assert.True(t, err == nil && program == "", "runc: %q, %v", program, err)
	_, err = p.settleCrun(t.Context(), Crun)
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "--runtime crun: crun is not installed; without that flag"), "error %v", err)
}
