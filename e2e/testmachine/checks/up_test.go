//go:build testmachine

package checks

import (
	"context"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - {name: web, image: lifepod.dev/toolbox:1, command: [serve, --port=8080], readinessProbe: {tcpSocket: {port: 8080}},
         volumeMounts: [{name: memory, mountPath: /memory}]}
      volumes: [{name: memory, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]`

// up: lifepod-up.service is a Kubernetes whose Deployment is served, and lives on when the
// service is restarted.
func up(c check) {
	c.deploy()
	before := c.run(webProcess + " | sort")
	c.run("systemctl restart lifepod-up.service")
	c.await(2*time.Minute, deploymentServes)
	after := c.run(webProcess + " | sort")
	assert.True(c, after == before, "after a restart of the service the containers are processes %s, before they were %s", after, before)
	c.Log(c.run("lifepod kubectl get nodes,pods -A -o wide; lifepod status"))
}

// upReboot: a reboot ends the Deployment's pods as the shutdown of a node does, and after it
// others serve.
func upReboot(c check) {
	c.deploy()
	before := c.run(runningPods)
	c.run("systemctl enable lifepod-up.service; systemctl reboot --no-block")
	c.awaitBoot()
	c.await(2*time.Minute, deploymentServes)
	c.expect(c.run("lifepod kubectl get -o jsonpath='{.status.reason}: {.status.message}' "+strings.Fields(before)[0]),
		"Terminated: Pod was terminated in response to imminent node shutdown.")
	for pod := range strings.FieldsSeq(before) {
		after := c.run(runningPods)
		assert.True(c, !strings.Contains(after, pod), "after a reboot these pods run, before it %s:\n%s", before, after)
	}
	c.run("lifepod kubectl delete -f deployment.yaml")
}

// powerCut: when the power comes back, the pods begin again in place, with nothing that
// they had in memory.
func powerCut(c check) {
	c.deploy()
	before := c.run(runningPods)
	c.run("for pod in $(" + runningPods + "); do lifepod kubectl exec $pod -- sh -c 'echo something > /memory/file' || exit 1; done")
	c.run("systemctl enable lifepod-up.service; sync; (sleep 1; echo b > /proc/sysrq-trigger) &")
	c.awaitBoot()
	c.await(2*time.Minute, deploymentServes)
	c.run("for pod in $(" + runningPods + "); do lifepod kubectl exec $pod -- sh -c '[ ! -e /memory/file ]' || exit 1; done")
	after := c.run(runningPods)
	assert.True(c, after == before, "after the power was cut these pods run:\n%s\nbefore:\n%s", after, before)
	c.Log(c.run("lifepod kubectl get pods -o wide"))
	c.run("systemctl disable lifepod-up.service; lifepod kubectl delete -f deployment.yaml")
}

// awaitBoot returns the ID of the boot.
func (c check) awaitBoot() string {
	c.Helper()
	boot := assert.Get(c.machine.AwaitBoot(context.WithoutCancel(c.Context()))).Must(c)
	return boot
}

// down: nothing is left of what up made.
func down(c check) {
	c.startUp()
	c.run("systemctl stop lifepod-up.service; lifepod down --purge")
	c.expect(c.run("ls /var/lib/lifepod 2>&1; find /sys/fs/cgroup -name 'lifepod*' -not -path '*/system.slice/*'; echo no cgroup more"),
		"ls: cannot access '/var/lib/lifepod': No such file or directory\nno cgroup more\n")
}

// deploy has the Deployment served.
func (c check) deploy() {
	c.Helper()
	c.startUp()
	c.write("deployment.yaml", deployment)
	c.run("lifepod kubectl apply -f deployment.yaml")
	c.await(2*time.Minute, deploymentServes)
}

// startUp has lifepod-up.service run if it does not.
func (c check) startUp() {
	c.Helper()
	c.run("systemctl stop lifepod-agent.service; systemctl start lifepod-up.service")
}

// configureUp has the service run with lines of a KubeletConfiguration.
func (c check) configureUp(lines string) {
	c.Helper()
	c.run("echo 'LIFEPOD_UP_ARGS=\"--config=/etc/lifepod/kubelet.yaml\"' > /etc/default/lifepod")
	c.writeConfiguration(lines)
	c.run("systemctl restart lifepod-up.service")
}

// deploymentServes holds when the Deployment is available and its Service answers.
const deploymentServes = `lifepod kubectl wait --for=condition=Available --timeout=5s deployment/web &&
exec 3<>/dev/tcp/$(lifepod kubectl get service web -o jsonpath={.spec.clusterIP})/80`

const runningPods = `lifepod kubectl get pods -l app=web --field-selector=status.phase=Running -o name`
