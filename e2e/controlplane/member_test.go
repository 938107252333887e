package controlplane_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestProcessThatEndsIsAnError: nobody waits for a node that cannot come, and
// nothing is left of it.
func TestProcessThatEndsIsAnError(t *testing.T) {
	plane := assert.Get(controlplane.Start(t.Context())).Must(t)
	assert.AtEnd(t, plane.Close)
	program := filepath.Join(t.TempDir(), "kubelet")
	assert.Must(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"my flags: $*\"; exit 3\n"), 0o700))
	dir := filepath.Join(t.TempDir(), "node")
	m := assert.Get(member.Start(t.Context(), member.Config{
		Plane: plane, Program: program, Name: "broken", Dir: dir, Bootstrap: true,
		Kubelet: map[string]any{"maxPods": 7, "clusterDomain": "example"}, Flags: []string{"--more"},
	})).Must(t)
	err := m.AwaitReady(t.Context())
	for _, want := range []string{
		"wait for broken to be ready: its process has ended",
		"my flags: ", "--hostname-override=broken", "--bootstrap-kubeconfig=" + plane.Dir(), "--more\n",
	} {
		assert.ErrorContains(t, want, err)
	}
	checkConfiguration(t, m)
	assert.NoError(t, m.Close())
	assert.ErrorIs(t, os.ErrNotExist, assert.ErrorOf(os.Stat(dir)), "the state folder is still there")
}

func checkConfiguration(t *testing.T, m *member.Member) {
	t.Helper()
	text := assert.Get(os.ReadFile(filepath.Join(m.Root.Dir, "kubelet.yaml"))).Must(t)
	var got struct {
		MaxPods, Port, HealthzPort int
		ClusterDomain, PodLogsDir  string
	}
	assert.Must(t, yaml.Unmarshal(text, &got))
	assert.True(t, got.MaxPods == 7 && got.ClusterDomain == "example" && got.Port == m.Port && got.HealthzPort == m.HealthPort,
		"configuration %+v, want maxPods 7, clusterDomain example, ports %d and %d", got, m.Port, m.HealthPort)
}
