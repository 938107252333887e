package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestEndsByItsLifecycle: whoever ends a pod without its lifepod ends it as that would have: with its preStop hook, its own grace,
// and its sidecar last (B-WRK-9, B-SIDE-2).
func TestEndsByItsLifecycle(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"down"}, {"doctor", "--sweep"}, {"stop", "flush"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			r, dir := newRoot(t), t.TempDir()
			c := r.startRun(t, pod("flush", fmt.Sprintf(`
terminationGracePeriodSeconds: 60
volumes: [{name: v, hostPath: {path: %s}}]
initContainers:
- name: side
  image: lifepod.dev/toolbox:1
  restartPolicy: Always
  command: [sh, -c, "trap 'echo side >> /v/log; exit 0' TERM; while true; do sleep 0.1; done"]
  volumeMounts: [{name: v, mountPath: /v}]
containers:
- name: db
  image: lifepod.dev/toolbox:1
  command: [sh, -c, "trap 'sleep 1; echo flushed >> /v/log; exit 0' TERM; echo begin >> /v/log; echo ready; while true; do sleep 0.1; done"]
  lifecycle: {preStop: {exec: {command: [sh, -c, "echo hook >> /v/log; sleep 1"]}}}
  volumeMounts: [{name: v, mountPath: /v}]
`, dir)))
			c.await(c.stdout, "ready")
			c.kill9()
			got := r.lifepod(t, "", args...) // which also looks at what else is amiss
			assert.True(t, args[0] == "doctor" || got.code == 0, "exit code %d: %s%s", got.code, got.stdout, got.stderr)
			log := assert.Get(os.ReadFile(filepath.Join(dir, "log"))).Must(t)
			assert.Deep(t, "what the containers wrote", "begin\nhook\nflushed\nside\n", string(log))
		})
	}
}
