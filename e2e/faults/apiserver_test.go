package faults

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestAPIServerAway stops the API server for a while: pods go on being restarted
// and probed, and statuses are right when it is back. An agent that starts
// meanwhile goes on with its pods, and runs static ones (B-RST-1, B-RST-10). It
// runs alone: others want the API server.
func TestAPIServerAway(t *testing.T) {
	manifests := t.TempDir()
	n := startNode(t, member.Config{Kubelet: map[string]any{"staticPodPath": manifests, "nodeLeaseDurationSeconds": 4}})
	steady, restarting := n.create(t, n.steady(t, "steady")), n.create(t, n.restarting(t, "restarting"))
	n.awaitReadyPods(t, steady, restarting)
	n.withoutAPIServer(t, restarting, func() {
		before := n.starts(restarting)
		time.Sleep(*outage) // this is the fault, not a wait
		n.awaitStarts(t, restarting, before+2)
	})
	// The new agent remembers the services, which a container that restarts needs.
	n.withoutAPIServer(t, restarting, func() {
		n.kill(t)
		before := n.starts(restarting)
		n.run(t)
		n.writeStatic(t, manifests)
		time.Sleep(*outage) // this is the fault, not a wait
		n.awaitStarts(t, restarting, before+1)
	})
	n.awaitStarts(t, restarting, n.starts(restarting)+2)
	assert.Must(t, os.Remove(filepath.Join(manifests, "static.yaml")))
	n.remove(t, steady)
	n.remove(t, restarting)
	n.awaitNoPods(t)
	n.awaitNothingLeft(t)
}

// withoutAPIServer stops the API server, and judges pods when it is back.
func (n *node) withoutAPIServer(t *testing.T, restarting *v1.Pod, meanwhile func()) {
	t.Helper()
	assert.Must(t, plane.StopAPIServer())
	away := true
	defer func() {
		if away { // the test has failed; others want it
			_ = plane.StartAPIServer(context.Background())
		}
	}()
	meanwhile()
	away = false
	assert.Must(t, plane.StartAPIServer(t.Context()))
	back := time.Now()
	n.awaitLease(t, back)
	lease := time.Since(back)
	n.awaitRight(t, restarting)
	right := time.Since(back)
	assert.Must(t, n.AwaitReady(t.Context()))
	t.Logf("without API server for %v: the Lease was renewed %v after it was back; statuses were right after %v",
		*outage, lease.Round(time.Millisecond), right.Round(time.Millisecond))
}

// writeStatic adds a static pod, and waits until it runs.
func (n *node) writeStatic(t *testing.T, manifests string) {
	t.Helper()
	text := `
apiVersion: v1
kind: Pod
metadata: {name: static, namespace: default}
spec:
  containers:
  - name: main
    image: lifepod.dev/toolbox:1
    command: [sh, -c, "touch /w/static; exec sleep --on-term=0 infinity"]
    volumeMounts: [{name: w, mountPath: /w}]
    resources: {limits: {memory: 64Mi}}
  volumes: [{name: w, hostPath: {path: ` + n.dir + `}}]
`
	assert.Must(t, os.WriteFile(filepath.Join(manifests, "static.yaml"), []byte(strings.TrimSpace(text)), 0o600))
	eventually(t, "for the static pod", func() string {
		if _, err := os.Stat(filepath.Join(n.dir, "static")); err != nil {
			return err.Error()
		}
		return ""
	})
}
