package criconfig

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestPortMappings(t *testing.T) {
	pod := networkPod(func(s *v1.PodSpec) {
		s.InitContainers = []v1.Container{
			{Name: "init", Ports: []v1.ContainerPort{{ContainerPort: 1}}},
			{Name: "side", RestartPolicy: ptr.To(v1.ContainerRestartPolicyAlways), Ports: []v1.ContainerPort{{ContainerPort: 9090, HostPort: 9090, Protocol: v1.ProtocolTCP}}},
		}
		s.Containers = []v1.Container{
			{Name: "a", Ports: []v1.ContainerPort{{ContainerPort: 80, Protocol: v1.ProtocolTCP}, {ContainerPort: 53, HostPort: 5353, Protocol: v1.ProtocolUDP, HostIP: "127.0.0.1"}}},
			{Name: "b", Ports: []v1.ContainerPort{{Name: "again", ContainerPort: 80}, {ContainerPort: 80, Protocol: v1.ProtocolSCTP}}},
		}
	})
	want := []*runtimeapi.PortMapping{
		{ContainerPort: 9090, HostPort: 9090},
		{ContainerPort: 80},
		{ContainerPort: 53, HostPort: 5353, HostIp: "127.0.0.1", Protocol: runtimeapi.Protocol_UDP},
		{ContainerPort: 80, Protocol: runtimeapi.Protocol_SCTP},
	}
	assert.Deep(t, "A-CRI-3", want, PortMappings(pod), protocmp.Transform())
}

func TestRelease(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "pods", "uid-1")
	other := filepath.Join(dir, "pods", "uid-2")
	assert.Must(t, os.Mkdir(filepath.Dir(record), 0o700))
	for _, path := range []string{record, other} {
		assert.Must(t, os.WriteFile(path, nil, 0o600))
	}
	for range 2 { // a second time is no error
		assert.Must(t, ReleaseAddress(dir, "uid-1"))
	}
	_, err := os.Stat(record)
	assert.True(t, os.IsNotExist(err), "the record is still there: %v", err)
	assert.NoError(t, assert.ErrorOf(os.Stat(other)), "another pod's record")
	assert.NoError(t, ReleaseAddress(filepath.Join(dir, "never used"), types.UID("uid-1")), "a folder that was never used")
}

// TestReleaseWaitsForTheStore: nothing is released while the plugin is at work.
func TestReleaseWaitsForTheStore(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "pods", "uid-1")
	assert.Must(t, os.Mkdir(filepath.Dir(record), 0o700))
	assert.Must(t, os.WriteFile(record, nil, 0o600))
	lock := assert.Get(os.Create(filepath.Join(dir, "lock"))).Must(t)
	assert.Must(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	released := make(chan error, 1)
	seen := make(chan error, 1)
	go func() {
		err := ReleaseAddress(dir, "uid-1")
		released <- err
	}()
	go func() { // the plugin's last look before it unlocks
		_, err := os.Stat(record)
		seen <- err
		_ = lock.Close()
	}()
	assert.NoError(t, <-seen, "the record was gone while the store was locked")
	assert.Must(t, <-released)
	_, err := os.Stat(record)
	assert.True(t, os.IsNotExist(err), "the record is still there: %v", err)
}
