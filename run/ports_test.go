package run

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func portsPod() *v1.Pod {
	tcp := func(ports ...v1.ContainerPort) []v1.ContainerPort {
		for i := range ports {
			ports[i].Protocol = v1.ProtocolTCP
		}
		return ports
	}
	return &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{
			{Name: "init", Ports: tcp(v1.ContainerPort{ContainerPort: 1, HostPort: 9001})},
			{Name: "side", RestartPolicy: ptr.To(v1.ContainerRestartPolicyAlways), Ports: tcp(v1.ContainerPort{ContainerPort: 9090}, v1.ContainerPort{ContainerPort: 2, HostPort: 9002})},
		},
		Containers: []v1.Container{{Name: "main", Ports: tcp(v1.ContainerPort{ContainerPort: 80})}},
	}}
}

func TestPublishPorts(t *testing.T) {
	for _, tc := range []struct {
		name, flag string
		want       []hostPort
		wantErr    string
	}{
		{"a declared port", "8080:80", []hostPort{{Port: 8080, Protocol: "TCP"}, {Port: 9002, Protocol: "TCP"}}, ""},
		{"A-CRI-3 a sidecar's", "127.0.0.1:8080:9090", []hostPort{{IP: "127.0.0.1", Port: 8080, Protocol: "TCP"}, {Port: 9002, Protocol: "TCP"}}, ""},
		{"a port that nobody declares", "8080:53/udp", []hostPort{{Port: 8080, Protocol: "UDP"}, {Port: 9002, Protocol: "TCP"}}, ""},
		{"A-CRI-3 a sidecar has the host port", "9002:80", nil, "host port 9002 is used already by container side"},
		{"an init container's is not mapped", "9001:80", []hostPort{{Port: 9001, Protocol: "TCP"}, {Port: 9002, Protocol: "TCP"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := portsPod()
			err := publishAll([]*v1.Pod{pod}, nil, []string{tc.flag})
			assert.Require(t, (err == nil) == (tc.wantErr == "") && (err == nil || strings.Contains(err.Error(), tc.wantErr)),
				"error %v, want %q", err, tc.wantErr)
			if err != nil {
				return
			}
			assert.Deep(t, "host ports", tc.want, hostPorts(pod))
		})
	}
}

// A host port on an IPv6 address is refused where no pod has one.
func TestUnreachablePorts(t *testing.T) {
	own, other := Options{Root: t.TempDir()}, Options{Root: t.TempDir(), RuntimeEndpoint: "unix:///run/crio/crio.sock"}
	for _, tc := range []struct {
		flag    string
		options Options
		refused bool
	}{
		{"[::1]:8080:80", own, true},
		{"[::]:8080:80/udp", own, true},
		{"127.0.0.1:8080:80", own, false},
		{"[::ffff:127.0.0.1]:8080:80", own, false},
		{"8080:80", own, false},
		{"[::1]:8080:80", other, false},
	} {
		pod := portsPod()
		assert.Must(t, publishAll([]*v1.Pod{pod}, nil, []string{tc.flag}))
		err := checkReachable(tc.options, pod)
		assert.True(t, (err != nil) == tc.refused, "-p %s with the runtime %q: %v", tc.flag, tc.options.RuntimeEndpoint, err)
	}
}
