package localdriver

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	csispec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/csi"
	"github.com/lifepod/lifepod/node/devices"
)

// registered is the part of a node that hears of CSI drivers.
type registered struct{ endpoint chan string }

// Validate is that of the node.
func (r registered) Validate(name, endpoint string, versions []string) error {
	return csi.NewRegistry(csi.RegistryConfig{Client: fake.NewClientset(), Log: slog.New(slog.DiscardHandler)}).Validate(name, endpoint, versions)
}

func (r registered) Register(_ context.Context, name, endpoint string, _ []string) error {
	if name == Name {
		r.endpoint <- endpoint
	}
	return nil
}

func (r registered) Deregister(string, string) {}

// The driver registers with its node as any other does, and then serves it. A call that is
// made when it ends is refused, and a copy under way is broken off.
func TestServe(t *testing.T) {
	m := newMachine(t)
	folder := filepath.Join(t.TempDir(), "plugins_registry")
	heard := registered{endpoint: make(chan string, 1)}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	running.Go(func() {
		assert.NoError(t, devices.NewPluginWatcher(folder, map[string]devices.PluginHandler{devices.VolumePlugin: heard}, slog.New(slog.DiscardHandler)).Run(ctx))
	})
	served := make(chan error, 1)
	go func() { served <- m.Serve(ctx, filepath.Join(folder, "local.sock")) }()
	connection := assert.Get(grpc.NewClient("unix:"+<-heard.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))).Must(t)
	defer func() { _ = connection.Close() }()
	info, err := csispec.NewNodeClient(connection).NodeGetInfo(ctx, &csispec.NodeGetInfoRequest{})
	assert.True(t, err == nil && info.GetNodeId() == "node-a" && info.GetAccessibleTopology().GetSegments()[TopologyKey] == "node-a",
		"node: %v (%v)", info, err)
	from, done := m.create("a", 16*megabyte, true, nil), make(chan struct{})
	m.calls.Go(func() {
		<-m.ctx.Done()
		close(done)
	})
	end()
	assert.NoError(t, <-served)
	select {
	case <-done:
	default:
		t.Error("the driver ended before a call that was under way")
	}
	_, err = m.CreateSnapshot(t.Context(), &csispec.CreateSnapshotRequest{Name: "s", SourceVolumeId: from.GetVolumeId()})
	assert.True(t, status.Code(err) == codes.Unavailable, "a call to a driver that has ended: %v, want Unavailable", err)
	assert.Fails(t, assert.ErrorOf(copyImage(m.ctx, m.volumes.image("a"), filepath.Join(t.TempDir(), "copy"))), "a copy was not broken off")
}

// A volume says that no pod had it yet until it is staged for one, also if it is a copy of one that
// was used.
func TestUnused(t *testing.T) {
	m := newMachine(t)
	unused := func() (ids []string) {
		list := assert.Get(m.ListVolumes(t.Context(), &csispec.ListVolumesRequest{})).Must(t)
		for _, entry := range list.GetEntries() {
			if Unused(entry.GetVolume()) {
				ids = append(ids, entry.GetVolume().GetVolumeId())
			}
		}
		return ids
	}
	m.create("a", 16*megabyte, false, nil)
	m.create("b", 16*megabyte, true, nil)
	got := unused()
	assert.True(t, slices.Equal(got, []string{"node-a:a", "node-a:b"}), "unused at first: %q", got)
	m.use("a", false)
	m.use("b", true)
	m.create("c", 16*megabyte, false, m.snapshot("s", "a"))
	m.restart()
	got = unused()
	assert.True(t, slices.Equal(got, []string{"node-a:c"}), "unused then: %q, want the copy", got)
}
