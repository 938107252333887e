//go:build testmachine

package checks

import (
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

const webPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - {name: web, image: lifepod.dev/toolbox:1, command: [serve, --port=8080, --on-term=0],
     livenessProbe: {httpGet: {path: /livez, port: 8080}, periodSeconds: 5, failureThreshold: 20}}`

// agent: lifepod-agent.service runs the pods of a folder, which live on when it is
// stopped, restarted and killed.
func agent(c check) {
	c.startAgent()
	before := c.run(webProcess)
	for _, how := range []string{
		"systemctl restart lifepod-agent.service",
		"systemctl kill --signal=KILL --kill-who=main lifepod-agent.service; sleep 2",
		"systemctl stop lifepod-agent.service; systemctl start lifepod-agent.service",
		"systemctl daemon-reload",
	} {
		c.run(how)
		c.await(time.Minute, "systemctl is-active lifepod-agent.service && "+webReady)
		after := c.run(webProcess)
		assert.True(c, after == before, "after %q the container is process %s, before it was %s", how, after, before)
	}
	c.run("rm /etc/lifepod/manifests/web.yaml")
	c.await(time.Minute, "! lifepod ps | grep web")
	if left := c.run("systemctl show -p NRestarts lifepod-agent.service; journalctl -u lifepod-agent.service -p warning --no-pager -q; systemctl status lifepod-agent.service --no-pager | head -20"); strings.Contains(left, "unit process") {
		c.Error(left)
	}
}

// startAgent has the service run the pod web, also after a reboot.
func (c check) startAgent() {
	c.write("/etc/default/lifepod", `LIFEPOD_AGENT_ARGS="--manifests=/etc/lifepod/manifests"`)
	c.write("/etc/lifepod/manifests/web.yaml", webPod)
	c.run("systemctl enable --now lifepod-agent.service")
	c.await(time.Minute, webReady)
}

// webReady holds when the pod web is ready and serves.
const webReady = `lifepod ps | grep -E 'web.* 1/1 +Running' && bash -c 'exec 3<>/dev/tcp/'$(lifepod status web-$(hostname) -o yaml | sed -n 's/^  podIP: //p')'/8080'`

// webProcess prints the machine's number of the container's process.
const webProcess = `pgrep -f '^serve --port=8080'`
