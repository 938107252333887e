package node

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// What is enforced, and where (A-RES-6).
func TestReservations(t *testing.T) {
	c, _ := configured(t, `enforceNodeAllocatable: [pods, system-reserved, kube-reserved-compressible]
systemReserved: {memory: 1Gi, pid: "100"}
kubeReserved: {cpu: 500m, pid: "200"}
systemReservedCgroup: /system.slice
kubeReservedCgroup: /kube.slice
`)
	got := reservations(c)
	assert.Require(t, len(got) == 2 && got[0].cgroup == "/system.slice" && !got[0].compressible && got[1].cgroup == "/kube.slice" && got[1].compressible,
		"A-RES-6 %+v", got)
	assert.Equal(t, 1<<30, got[0].list.Memory().Value(), "A-RES-6 memory of the system")
	proc := procOf(t, "10", false)
	for name, count := range map[string]string{"pid_max": "40000\n", "threads-max": "30000\n"} {
		assert.Must(t, os.WriteFile(filepath.Join(proc, "sys/kernel", name), []byte(count), 0o600))
	}
	node := assert.Get(register.New(register.Config{Name: "n", Resources: register.Resources{
		RootDir: t.TempDir(), MaxPods: 110, KubeReserved: c.Kubelet.KubeReserved, SystemReserved: c.Kubelet.SystemReserved,
	}})).Must(t)
	all := assert.Get(podsLimit(c, node, host.Kernel{Proc: proc})).Must(t)
	capacity := node.Node().Status.Capacity
	pids := all[podcgroup.ResourcePIDs]
	assert.True(t, pids.Value() == 29_700 && all.Memory().Value() == capacity.Memory().Value()-1<<30, "A-RES-6 all pods: %v", all)
	c.Kubelet.EnforceNodeAllocatable = nil
	all = assert.Get(podsLimit(c, node, host.Kernel{Proc: proc})).Must(t)
	pids = all[podcgroup.ResourcePIDs]
	assert.True(t, pids.Value() == 30_000 && all.Memory().Cmp(*capacity.Memory()) == 0, "A-RES-6 all pods, not enforced: %v", all)
}

// While pods use more than they may together, the limit is tried again (A-RES-6).
func TestLimitIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, events := 0, []string{}
		p := &podsLimiter{cgroup: "/kubepods", log: slog.New(slog.DiscardHandler), limit: func() error {
			if tries++; tries < 3 {
				return errors.New("device or resource busy")
			}
			return nil
		}, tell: func(kind, reason, message string) { events = append(events, kind+" "+reason+": "+message) }}
		began := time.Now()
		p.try()
		p.run(t.Context())
		failed := `Warning FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits "/kubepods": device or resource busy`
		want := []string{failed, failed, "Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods"}
		diff := cmp.Diff(want, events)
		assert.True(t, diff == "" && time.Since(began) == 2*time.Minute, "after %s (-want +got):\n%s", time.Since(began), diff)
	})
}
