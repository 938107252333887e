package devices

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// pluginsPlugin is one that serves the registration API.
type pluginsPlugin struct {
	registerapi.UnimplementedRegistrationServer

	t      *testing.T
	path   string
	info   *registerapi.PluginInfo // nil: it never answers
	status chan *registerapi.RegistrationStatus
}

// plugin serves at a path below the node's folder.
func (n *pluginsNode) plugin(path string, info *registerapi.PluginInfo) *pluginsPlugin {
	n.t.Helper()
	p := &pluginsPlugin{t: n.t, path: filepath.Join(n.folder, path), info: info, status: make(chan *registerapi.RegistrationStatus, 100)}
	assert.Must(n.t, os.MkdirAll(filepath.Dir(p.path), 0o750))
	listener := assert.Get(net.Listen("unix", p.path)).Must(n.t)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	server := grpc.NewServer()
	registerapi.RegisterRegistrationServer(server, p)
	go func() { _ = server.Serve(listener) }()
	n.t.Cleanup(server.Stop)
	return p
}

func (p *pluginsPlugin) remove() {
	p.t.Helper()
	assert.Must(p.t, os.Remove(p.path))
}

// wantStatus waits until the plugin has been told that it is registered, or why not.
func (p *pluginsPlugin) wantStatus(registered bool, why string) {
	p.t.Helper()
	select {
	case got := <-p.status:
		assert.Require(p.t, got.PluginRegistered == registered && got.Error == why, "told %v %q, want %v %q", got.PluginRegistered, got.Error, registered, why)
	case <-time.After(time.Minute):
		p.t.Fatal("not told of its registration")
	}
}

func (p *pluginsPlugin) GetInfo(ctx context.Context, _ *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	if p.info == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return p.info, nil
}

func (p *pluginsPlugin) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	p.status <- status
	return &registerapi.RegistrationStatusResponse{}, nil
}
