package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A probe goes to the pod's primary address; without one it is sent nevertheless, and
// fails (A-PROBE-17).
func TestProbeAddress(t *testing.T) {
	for name, c := range map[string]struct {
		hostNetwork bool
		hostIPs     []string
		want        string
	}{
		"pod network":                  {want: "10.0.0.2", hostIPs: []string{"192.0.2.1"}},
		"host network":                 {want: "192.0.2.1", hostNetwork: true, hostIPs: []string{"192.0.2.1", "2001:db8::1"}},
		"host network without address": {want: "", hostNetwork: true},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{
			HostNetwork: c.hostNetwork,
			Containers:  []v1.Container{{Name: "main", LivenessProbe: &v1.Probe{}}},
		}}
		defaults(pod)
		options := DefaultOptions()
		options.HostIPs = c.hostIPs
		tr := newTranscript(pod, options, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		tr.feed(Accepted{})
		tr.settle(t, []string{"Probe"})
		want := []Effect{Probe{ID: tr.m.kept.LastID, Container: "main", ContainerID: "main-0", Kind: LivenessProbe, PodIP: c.want}}
		diff := cmp.Diff(want, tr.pending)
		assert.True(t, diff == "", "%s: probes under way (-want +got):\n%s", name, diff)
	}
}

// Regular init containers and ephemeral containers have no probes, whatever their spec
// says (A-PROBE-1).
func TestProbedKinds(t *testing.T) {
	spec := &v1.Container{StartupProbe: &v1.Probe{}, LivenessProbe: &v1.Probe{}, ReadinessProbe: &v1.Probe{}}
	for k, want := range map[kind]bool{initContainer: false, sidecarContainer: true, regularContainer: true, ephemeralContainer: false} {
		c := &container{role: role{spec: spec, kind: k}}
		for _, probe := range []ProbeKind{StartupProbe, LivenessProbe, ReadinessProbe} {
			got := c.probeSpec(probe) != nil
			assert.True(t, got == want, "kind %d, %s probe: probed %t, want %t", k, probe, got, want)
		}
	}
}

// What a probe says is one line of the story, however long it is.
func TestWords(t *testing.T) {
	for output, want := range map[string]string{
		"":                         "",
		"refused\n":                "refused",
		" a\r\n\tb \n":             "a b", //nolint:gocritic // the whitespace is the case
		strings.Repeat("ä", 200):   strings.Repeat("ä", 200),
		strings.Repeat("ä", 10000): strings.Repeat("ä", 200) + "…",
	} {
		got := words(output)
		assert.True(t, got == want, "words(%q) = %q, want %q", output, got, want)
	}
}
