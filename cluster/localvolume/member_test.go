package localvolume

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/localdriver"
)

func newMember(t *testing.T, client kubernetes.Interface) Member {
	t.Helper()
	driver := assert.Get(localdriver.New(localdriver.Config{Dir: t.TempDir(), Node: "n2", Version: "test", Log: slog.New(slog.DiscardHandler)})).Must(t)
	known := make(chan struct{})
	close(known)
	return Member{Driver: driver, Known: known, Client: func() (kubernetes.Interface, error) { return client, nil }, Log: slog.New(slog.DiscardHandler)}
}

// serve serves until the test ends; the socket is there when the driver is.
func (v Member) serve(t *testing.T) (socket string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	socket = filepath.Join(t.TempDir(), "local.sock")
	done := make(chan error)
	go func() { done <- v.Serve(ctx, socket) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	return socket
}

func served(socket string, within time.Duration) bool {
	for until := time.Now().Add(within); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return true
		}
	}
	return false
}

// A machine that joined a cluster of others serves no volumes there, until that has our CSIDriver.
func TestMemberServesWhereDriverIsInstalled(t *testing.T) {
	client := fake.NewClientset()
	socket := newMember(t, client).serve(t)
	assert.True(t, !served(socket, 200*time.Millisecond), "the driver is served in a cluster without it")
	assert.Must(t, assert.ErrorOf(client.StorageV1().CSIDrivers().Create(t.Context(), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: localdriver.Name}}, metav1.CreateOptions{})))
	assert.True(t, served(socket, 10*time.Second), "the driver is not served in a cluster with it")
}

// Volumes that are there are served at once: the API server may not answer.
func TestMemberServesItsVolumes(t *testing.T) {
	v := newMember(t, nil)
	v.Known = nil
	assert.Must(t, assert.ErrorOf(v.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "a", VolumeCapabilities: []*csi.VolumeCapability{{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}},
	}}})))
	assert.True(t, served(v.serve(t), 10*time.Second), "the driver is not served")
}
