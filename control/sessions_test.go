package control

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// A-PROBE-13: a probe's command is told from a client's by what it runs as, its
// variables replaced; a hook's is run as it is written.
func TestOwnCommands(t *testing.T) {
	c := v1.Container{
		Env:            []v1.EnvVar{{Name: "FILE", Value: "/ready"}},
		StartupProbe:   &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}}},
		LivenessProbe:  &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"alive"}}}},
		ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"test", "-f", "$(FILE)"}}}},
		Lifecycle:      &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"rm", "$(FILE)"}}}},
	}
	want := [][]string{{"alive"}, {"test", "-f", "/ready"}, {"rm", "$(FILE)"}}
	if diff := cmp.Diff(want, ownCommands(&c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
