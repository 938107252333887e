//go:build testmachine

package checks

import (
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// witness is a pod that writes down when it was told to end, and when it has ended, and
// that finds its memory volume empty.
const witness = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  priority: PRIORITY
  terminationGracePeriodSeconds: 60
  containers:
  - name: main
    image: lifepod.dev/toolbox:1
    command:
    - sh
    - -c
    - |
      echo NAME begins with $(ls /memory | wc -l) files >> /witness/log
      echo something > /memory/file
      trap 'echo NAME is told to end >> /witness/log; sleep 1; echo NAME ends >> /witness/log; exit 0' TERM
      while true; do sleep 0.1; done
    volumeMounts: [{name: witness, mountPath: /witness}, {name: memory, mountPath: /memory}]
  volumes:
  - {name: witness, hostPath: {path: /var/lib/witness, type: DirectoryOrCreate}}
  - {name: memory, emptyDir: {medium: Memory}}`

// witnessed is what the pods write when a critical one ends after the other.
const witnessed = `low begins with 0 files
high begins with 0 files
low is told to end
low ends
high is told to end
high ends
`

// startWitnesses has the agent run two pods of different priorities, with time to end when
// the machine shuts down.
func (c check) startWitnesses() {
	c.configure("shutdownGracePeriod: 1200s\nshutdownGracePeriodCriticalPods: 600s")
	c.run("rm -rf /var/lib/witness; systemctl enable --now lifepod-agent.service")
	for _, pod := range []struct{ name, priority string }{{"low", "0"}, {"high", "2000001000"}} {
		c.write("/etc/lifepod/manifests/"+pod.name+".yaml", strings.NewReplacer("NAME", pod.name, "PRIORITY", pod.priority).Replace(witness))
		c.await(time.Minute, "grep '"+pod.name+" begins' /var/lib/witness/log")
	}
}

// reboot: a reboot waits until the pods have ended, the critical ones last; after it those
// of the agent's folder run again, which the service sees to, with nothing that they had in
// memory.
func reboot(c check) {
	c.startWitnesses()
	before := c.run("cat /proc/sys/kernel/random/boot_id")
	c.run("systemctl reboot --no-block")
	assert.Require(c, c.awaitBoot() != strings.TrimSpace(before), "the machine has not rebooted")
	c.await(2*time.Minute, "[ $(grep -c begins /var/lib/witness/log) = 4 ] && [ $(lifepod ps | grep -c ' 1/1 *Running') = 2 ]")
	c.Logf("the agent said before:\n%s", c.run("journalctl -b -1 -u lifepod-agent.service -o cat --no-pager -q | grep -E 'shut|evicted|Failed' | tail"))
	log := c.run("cat /var/lib/witness/log")
	again, found := strings.CutPrefix(log, witnessed)
	assert.True(c, found && strings.Count(again, "begins with 0 files\n") == 2, "the pods have written:\n%s", log)
	c.forget("low", "high")
	c.run("systemctl disable --now lifepod-agent.service")
	c.expect(c.run("lifepod doctor | grep leftovers"), "none below /var/lib/lifepod")
}

// poweroff: the machine switches itself off when its pods have ended.
func poweroff(c check) {
	c.startWitnesses()
	c.run("systemctl poweroff --no-block")
	assert.Must(c, c.machine.AwaitOff(2*time.Minute))
	log := assert.Get(c.machine.ReadFile("/var/lib/witness/log")).Must(c)
	assert.True(c, log == witnessed, "the pods have written:\n%s", log)
}
