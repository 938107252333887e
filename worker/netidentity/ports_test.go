package netidentity

import (
	"testing"

	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestPortMappings(t *testing.T) {
	pod := testPod(func(s *v1.PodSpec) {
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
