//go:build testmachine

package checks

import (
	"fmt"
	"time"
)

// hog is a pod that takes too much of something while the pod web runs beside it.
const hog = `
apiVersion: v1
kind: Pod
metadata: {name: hog}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: lifepod.dev/toolbox:1, command: [sh, -c, "%s"], volumeMounts: [{name: scratch, mountPath: /scratch}]}
  volumes: [{name: scratch, emptyDir: {}}]`

// memoryPressure: a pod that takes the machine's memory is evicted, by what cgroup v2 and
// the kernel's pressure tell.
func memoryPressure(c check) {
	c.evict("memory", "memory.available: $(( ($(awk '/^MemAvailable/ {print $2}' /proc/meminfo) - 700000) / 1024 ))Mi", "eat-memory 1200Mi")
}

// diskPressure: a pod that fills the disk is evicted.
func diskPressure(c check) {
	c.evict("ephemeral-storage", "nodefs.available: $(( $(df --output=avail -m / | tail -1) - 200 ))Mi", "cat /dev/zero > /scratch/file")
	c.run("[ $(du -sm /var/lib/lifepod/node | cut -f1) -lt 200 ]") // what it wrote has gone with it
}

// pidPressure: a pod that starts process after process is evicted.
func pidPressure(c check) {
	c.evict("pids", `pid.available: "$(( $(sort -n /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max | head -1) - $(ls -d /proc/[0-9]*/task/[0-9]* | wc -l) - 200 ))"`, manyProcesses)
}

// evict has the node of lifepod up run the pods web and hog with a hard threshold, in which
// the machine's shell replaces its substitutions, and awaits that only the hog goes.
func (c check) evict(resource, threshold, command string) {
	c.startUp()
	c.configureUp(`evictionHard: {` + threshold + `}
evictionPressureTransitionPeriod: 0s
enforceNodeAllocatable: [none]`)
	c.write("web.yaml", webPod)
	c.run("lifepod kubectl apply -f web.yaml")
	c.await(time.Minute, "lifepod kubectl wait --for=condition=Ready --timeout=5s pod/web")
	c.write("hog.yaml", fmt.Sprintf(hog, command))
	c.run("lifepod kubectl apply -f hog.yaml")
	c.await(time.Minute, "lifepod kubectl wait --for=jsonpath={.status.reason}=Evicted --timeout=5s pod/hog")
	c.expect(c.run("lifepod kubectl get pod hog -o yaml"), "phase: Failed", "The node was low on resource: "+resource+". Threshold quantity: ", "type: DisruptionTarget")
	c.Logf("lifepod up says:\n%s", c.run("journalctl -u lifepod-up.service -o cat --no-pager -q | grep -E 'must reclaim|is evicted' | tail -2"))
	c.await(time.Minute, "lifepod kubectl wait --for=condition=Ready --timeout=5s node --all && lifepod kubectl get node -o yaml | grep -c 'reason: KubeletHas' | grep 3")
	c.run("lifepod kubectl wait --for=condition=Ready --timeout=5s pod/web")
	c.run("lifepod kubectl delete pod web hog")
}
