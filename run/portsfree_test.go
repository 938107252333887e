package run

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
)

func podWithPort(uid, ip string, port int, protocol v1.Protocol) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", uid, types.UID(uid)
	pod.Spec.Containers = []v1.Container{{Ports: []v1.ContainerPort{{ContainerPort: 80, HostIP: ip, HostPort: int32(port), Protocol: protocol}}}}
	return pod
}

func TestCheckFree(t *testing.T) {
	root := t.TempDir()
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	used := listener.Addr().(*net.TCPAddr).Port
	defer func() { _ = listener.Close() }()
	free := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()

	other, err := newRecord(&host.Runtime{Root: root}, podWithPort("other", "127.0.0.1", port, v1.ProtocolTCP), "")
	assert.Must(t, err)
	byOther := func(text string) string {
		return fmt.Sprintf("host port %s is published already by pod default/other (lifepod run with PID %d)", text, os.Getpid())
	}
	for _, c := range []struct {
		name string
		pod  *v1.Pod
		want string
	}{
		{"a process listens", podWithPort("a", "", used, v1.ProtocolTCP), fmt.Sprintf("host port %d/tcp is used already by a process of this machine (ss -lpn shows it)", used)},
		{"another protocol", podWithPort("a", "", used, v1.ProtocolUDP), ""},
		{"another pod, all addresses", podWithPort("a", "", port, v1.ProtocolTCP), byOther(fmt.Sprintf("%d/tcp", port))},
		{"another pod, same address", podWithPort("a", "127.0.0.1", port, v1.ProtocolTCP), byOther(fmt.Sprintf("127.0.0.1:%d/tcp", port))},
		{"another pod, other address", podWithPort("a", "127.0.0.2", port, v1.ProtocolTCP), ""},
		{"itself", podWithPort("other", "127.0.0.1", port, v1.ProtocolTCP), ""},
		{"not our address", podWithPort("a", "192.0.2.7", port, v1.ProtocolTCP), fmt.Sprintf("host port 192.0.2.7:%d/tcp: 192.0.2.7 is not an address of this machine", port)},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Error(t, c.want, checkFree(root, c.pod))
		})
	}
	other.leave()
	killed(t, root, other)
	err = checkFree(root, podWithPort("a", "127.0.0.1", port, v1.ProtocolTCP))
	want := "its lifepod run was killed; `lifepod --root " + root + " stop default/other` ends it"
	assert.True(t, err != nil && strings.Contains(err.Error(), want), "of an unattended pod: %v, want %q", err, want)
	other.remove()
	assert.NoError(t, checkFree(root, podWithPort("a", "", port, v1.ProtocolTCP)), "after the other pod's end")
}
