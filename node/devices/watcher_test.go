package devices

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestPluginsRegister(t *testing.T) {
	n := pluginsNewNode(t)
	t.Run("A-PLUG-2 its own socket is the endpoint of a plugin that names none", func(t *testing.T) {
		p := n.plugin("a.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "a", SupportedVersions: []string{"1.0.0"}})
		n.expect("validate a "+p.path, "register a "+p.path)
		p.wantStatus(true, "")
		p.remove()
		n.expect("deregister a " + p.path)
	})
	t.Run("A-PLUG-1 a folder below that is made later", func(t *testing.T) {
		p := n.plugin("driver/deep/b.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "b", Endpoint: "/e"})
		n.expect("validate b /e", "register b /e")
		p.wantStatus(true, "")
	})
	t.Run("A-PLUG-1 hidden sockets and files are none of ours", func(t *testing.T) {
		n.plugin(".hidden.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "hidden"})
		n.plugin(".dir/c.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "hidden"})
		assert.Must(t, os.WriteFile(filepath.Join(n.folder, "file"), nil, 0o600))
		n.plugin("c.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "c", Endpoint: "/c"})
		n.expect("validate c /c", "register c /c")
	})
}

func TestPluginsRefused(t *testing.T) {
	n := pluginsNewNode(t)
	n.plugin("type.sock", &registerapi.PluginInfo{Type: "Other", Name: "a"}).
		wantStatus(false, "RegisterPlugin error -- no handler registered for plugin type: Other at socket "+filepath.Join(n.folder, "type.sock"))
	n.plugin("invalid.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "invalid", Endpoint: "/e"}).
		wantStatus(false, "RegisterPlugin error -- plugin validation failed with err: not that name")
	p := n.plugin("late.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "late", Endpoint: "/l"})
	n.expect("validate late /l", "register late /l", "validate late /l", "register late /l")
	p.wantStatus(false, "RegisterPlugin error -- plugin registration failed with err: not yet")
	p.wantStatus(true, "")
}

// TestReplaced: a plugin that restarts is not deregistered, so that nobody takes it for gone.
func TestReplaced(t *testing.T) {
	n := pluginsNewNode(t)
	info := &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "a", Endpoint: "/a"}
	p := n.plugin("a.sock", info)
	n.expect("validate a /a", "register a /a")
	p.wantStatus(true, "")
	next := n.plugin("other/.new", info)
	assert.Must(t, os.Rename(next.path, p.path))
	n.expect("validate a /a", "register a /a")
	next.wantStatus(true, "")
	last := n.plugin("other/.new", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "a", Endpoint: "/moved"})
	assert.Must(t, os.Rename(last.path, p.path))
	n.expect("validate a /moved", "register a /moved", "deregister a /a")
}

// TestHung: a plugin that doesn't answer is alone with that.
func TestHung(t *testing.T) {
	n := pluginsNewNode(t)
	hung := n.plugin("hung.sock", nil)
	n.plugin("a.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "a", Endpoint: "/a"}).wantStatus(true, "")
	n.expect("validate a /a", "register a /a")
	hung.remove()
	n.plugin("b.sock", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "b", Endpoint: "/b"}).wantStatus(true, "")
	n.expect("validate b /b", "register b /b")
}

// TestLeftBehind: a socket of nobody is tried again until somebody listens there.
func TestLeftBehind(t *testing.T) {
	n := pluginsNewNode(t)
	p := n.plugin(".a", &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: "a", Endpoint: "/a"})
	left := assert.Get(net.Listen("unix", filepath.Join(n.folder, "a.sock"))).Must(t)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	assert.Must(t, errors.Join(left.Close(), os.Rename(p.path, filepath.Join(n.folder, "a.sock"))))
	n.expect("validate a /a", "register a /a")
}

// pluginsNode is a watcher whose calls of its handler can be expected.
type pluginsNode struct {
	t      *testing.T
	folder string
	calls  chan string
	late   int // registrations of the plugin late
}

func pluginsNewNode(t *testing.T) *pluginsNode {
	n := &pluginsNode{t: t, folder: filepath.Join(t.TempDir(), "r"), calls: make(chan string, 100)}
	t.Cleanup(func() {
		select {
		case call := <-n.calls:
			t.Errorf("unexpected %s", call)
		default:
		}
	})
	assert.Serves(t, NewPluginWatcher(n.folder, map[string]PluginHandler{registerapi.CSIPlugin: n}, slog.New(slog.DiscardHandler)).Run)
	return n
}

func (n *pluginsNode) expect(calls ...string) {
	n.t.Helper()
	for _, want := range calls {
		select {
		case got := <-n.calls:
			assert.Require(n.t, got == want, "%s, want %s", got, want)
		case <-time.After(time.Minute):
			n.t.Fatalf("no %s", want)
		}
	}
}

func (n *pluginsNode) Validate(name, endpoint string, _ []string) error {
	if name == "invalid" {
		return errors.New("not that name")
	}
	n.calls <- "validate " + name + " " + endpoint
	return nil
}

func (n *pluginsNode) Register(_ context.Context, name, endpoint string, _ []string) error {
	n.calls <- "register " + name + " " + endpoint
	if n.late++; name == "late" && n.late == 1 {
		return errors.New("not yet")
	}
	return nil
}

func (n *pluginsNode) Deregister(name, endpoint string) {
	n.calls <- "deregister " + name + " " + endpoint
}
