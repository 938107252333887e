package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/shutdown/logindtest"
)

const shutdownConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriodByPodPriority:
- {priority: 0, shutdownGracePeriodSeconds: 60}
- {priority: 1000, shutdownGracePeriodSeconds: 60}
- {priority: 2000000000, shutdownGracePeriodSeconds: 60}
`

const shutdownPod = `apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  priority: %d
  containers:
  - {name: main, image: 'lifepod.dev/toolbox:1', command: [sh, -c, 'trap "exit 0" TERM; while :; do sleep 0.1; done']}
`

// An agent holds up the machine's shutdown until its pods have ended, the lowest priority
// first, and takes its lock again when the shutdown is cancelled (B-SHD-2, B-SHD-4).
func TestAgentAtShutdown(t *testing.T) {
	t.Parallel()
	bus := logindtest.NewBus(t)
	logind := logindtest.NewLogind(t, bus, time.Hour)
	root, files := machine.Root{Dir: t.TempDir()}, t.TempDir()
	write := func(name, text string) {
		assert.Must(t, os.WriteFile(filepath.Join(files, name), []byte(text), 0o600))
	}
	write("config", shutdownConfig)
	assert.Must(t, os.Mkdir(filepath.Join(files, "pods"), 0o700))
	for name, priority := range map[string]int{"low": 0, "middle": 1500, "high": 2_000_000_000} {
		write("pods/"+name+".yaml", fmt.Sprintf(shutdownPod, name, priority))
	}
	command := exec.Command(binary, "agent", "--root="+root.Dir, "--manifests="+filepath.Join(files, "pods"), "--config="+filepath.Join(files, "config"))
	command.Env = append(os.Environ(), "DBUS_SYSTEM_BUS_ADDRESS="+bus.Address())
	agent := assert.Get(machine.StartProcess(command, filepath.Join(files, "log"))).Must(t)
	t.Cleanup(func() {
		_ = agent.Signal(syscall.SIGTERM) // it may have ended
		<-agent.Ended()
		out, err := exec.Command(binary, "down", "--purge", "--root", root.Dir).CombinedOutput()
		assert.True(t, err == nil, "end what is left: %v\n%s", err, out)
	})
	log := func() string {
		text := assert.Get(os.ReadFile(filepath.Join(files, "log"))).Must(t)
		return string(text)
	}
	machine.Until(t, "all three pods", func() bool { return strings.Count(log(), `msg="pod Running"`) == 3 })
	lock := <-logind.Locks
	assert.Must(t, logind.PrepareForShutdown(true))
	select {
	case <-lock.Released:
	case <-time.After(time.Minute): // the time of one of the three groups
		t.Fatalf("the lock is still held:\n%s", log())
	}
	after := log()
	for _, name := range []string{"low", "middle", "high"} {
		_, rest, found := strings.Cut(after, `msg="pod Failed (Terminated)" pod=default/`+name+"-")
		if !found {
			t.Fatalf("%s has not ended in its turn:\n%s", name, log())
		}
		after = rest
	}
	assert.Must(t, logind.PrepareForShutdown(false))
	select {
	case <-logind.Locks:
	case <-time.After(patience):
		t.Fatalf("the lock is not taken again:\n%s", log())
	}
}
