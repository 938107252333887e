package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestPrimaryFirst(t *testing.T) {
	tests := []struct {
		name                string
		runtime, host, want []string
	}{
		{"one address", []string{"10.0.0.2"}, []string{"192.0.2.1"}, []string{"10.0.0.2"}},
		{"none", nil, []string{"192.0.2.1"}, nil},
		{"the node's family comes first", []string{"fd00::2", "10.0.0.2"}, []string{"192.0.2.1"}, []string{"10.0.0.2", "fd00::2"}},
		{"of a node with IPv6 first", []string{"10.0.0.2", "fd00::2"}, []string{"2001:db8::1", "192.0.2.1"}, []string{"fd00::2", "10.0.0.2"}},
		{"one of each family", []string{"10.0.0.2", "10.0.0.3", "fd00::2", "fd00::3"}, []string{"192.0.2.1"}, []string{"10.0.0.2", "fd00::2"}},
		{"only the other family", []string{"fd00::2"}, []string{"192.0.2.1"}, []string{"fd00::2"}},
		{"a node that has none", []string{"fd00::2", "10.0.0.2"}, nil, []string{"10.0.0.2", "fd00::2"}},
		{"in the form of the API", []string{"FD00:0::2", "::ffff:10.0.0.2"}, []string{"192.0.2.1"}, []string{"10.0.0.2", "fd00::2"}},
		{"no address at all", []string{"", "x"}, []string{"192.0.2.1"}, nil},
	}
	for _, tc := range tests {
		t.Run("A-CST-17 "+tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, primaryFirst(tc.runtime, tc.host)); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDualStackStatus: both families are in the status and in what containers
// are made with, in order.
func TestDualStackStatus(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "img:1"}}}}
	defaults(pod)
	options := DefaultOptions()
	options.HostIPs = []string{"192.0.2.1", "2001:db8::1"}
	m, now := New(pod, options), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var runtime pretendedRuntime
	var created CreateContainer
	pending := m.Step(Event{At: now, Fact: Accepted{}})
	for len(pending) > 0 {
		e := pending[0]
		pending = slices.Clone(pending[1:])
		if c, ok := e.(CreateContainer); ok {
			created = c
			break
		}
		if e.EffectID() == 0 {
			continue
		}
		for _, f := range runtime.carryOut(t, e, now) {
			if s, ok := f.(SandboxCreated); ok {
				s.IPs = []string{"fd00::2", "10.0.0.2"}
				f = s
			}
			pending = append(pending, m.Step(Event{At: now, Fact: f})...)
		}
	}
	status := m.Status()
	if diff := cmp.Diff([]v1.PodIP{{IP: "10.0.0.2"}, {IP: "fd00::2"}}, status.PodIPs); diff != "" || status.PodIP != "10.0.0.2" {
		t.Errorf("A-CST-17 podIP %s, podIPs (-want +got):\n%s", status.PodIP, diff)
	}
	if diff := cmp.Diff([]v1.HostIP{{IP: "192.0.2.1"}, {IP: "2001:db8::1"}}, status.HostIPs); diff != "" || status.HostIP != "192.0.2.1" {
		t.Errorf("A-CST-17 hostIP %s, hostIPs (-want +got):\n%s", status.HostIP, diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.2", "fd00::2"}, created.PodIPs); diff != "" {
		t.Errorf("A-NET-1 the container's addresses (-want +got):\n%s", diff)
	}
}

// The next agent may run on a machine with another address: that is the one shown (A-CST-17).
func TestHostAddressChanges(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	options := tr.m.options
	options.HostIPs = []string{"192.0.2.9"}
	next, err := Restore(tr.m.pod, options, throughJSON(t, tr.m.Checkpoint()))
	if err != nil {
		t.Fatal(err)
	}
	tr.m = next
	tr.feed(Resumed{})
	if status := tr.m.Status(); status.HostIP != "192.0.2.9" || len(status.HostIPs) != 1 {
		t.Errorf("the host has %v", status.HostIPs)
	}
}

// A new sandbox may have other addresses, as many as the old one: they are those of the pod then (A-CST-17, A-ACT-3).
func TestPodAddressChanges(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	tr.feed(SandboxExited{SandboxID: "sandbox0"})
	tr.settle(t, []string{"CreateSandbox"})
	tr.feed(SandboxCreated{Result: Result{ID: tr.pending[0].EffectID()}, SandboxID: "sandbox1", IPs: []string{"10.0.0.3"}})
	status := tr.m.Status()
	if diff := cmp.Diff([]v1.PodIP{{IP: "10.0.0.3"}}, status.PodIPs); diff != "" || status.PodIP != "10.0.0.3" {
		t.Errorf("podIP %s, podIPs (-want +got):\n%s", status.PodIP, diff)
	}
}
