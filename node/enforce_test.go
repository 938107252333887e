package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/host"
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
	if len(got) != 2 || got[0].cgroup != "/system.slice" || got[0].compressible || got[1].cgroup != "/kube.slice" || !got[1].compressible {
		t.Fatalf("A-RES-6 %+v", got)
	}
	if memory := got[0].list.Memory().Value(); memory != 1<<30 {
		t.Errorf("A-RES-6 memory of the system: %d", memory)
	}
	proc := procOf(t, "10", false)
	for name, count := range map[string]string{"pid_max": "40000\n", "threads-max": "30000\n"} {
		if err := os.WriteFile(filepath.Join(proc, "sys/kernel", name), []byte(count), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	node, err := register.New(register.Config{Name: "n", Resources: register.Resources{
		RootDir: t.TempDir(), MaxPods: 110, KubeReserved: c.Kubelet.KubeReserved, SystemReserved: c.Kubelet.SystemReserved,
	}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := podsLimit(c, node, host.Kernel{Proc: proc})
	if err != nil {
		t.Fatal(err)
	}
	capacity := node.Node().Status.Capacity
	pids := all[podcgroup.ResourcePIDs]
	if pids.Value() != 29_700 || all.Memory().Value() != capacity.Memory().Value()-1<<30 {
		t.Errorf("A-RES-6 all pods: %v", all)
	}
	c.Kubelet.EnforceNodeAllocatable = nil
	if all, err = podsLimit(c, node, host.Kernel{Proc: proc}); err != nil {
		t.Fatal(err)
	}
	pids = all[podcgroup.ResourcePIDs]
	if pids.Value() != 30_000 || all.Memory().Cmp(*capacity.Memory()) != 0 {
		t.Errorf("A-RES-6 all pods, not enforced: %v", all)
	}
}
