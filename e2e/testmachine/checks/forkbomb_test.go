//go:build testmachine

package checks

import (
	"strings"
	"time"
)

// bomb is a pod that starts as many processes as it may have.
const bomb = `
apiVersion: v1
kind: Pod
metadata: {name: bomb}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: lifepod.dev/toolbox:1
    command: [sh, -c, "` + manyProcesses + `"]`

// manyProcesses starts process after process until it may have no more.
const manyProcesses = "for i in $(seq 1000); do sleep 1000 & done; sleep infinity"

// forkBomb: a pod that starts process after process is held up by podPidsLimit, and its
// neighbour does not notice.
func forkBomb(c check) {
	c.configure("podPidsLimit: 100")
	c.write("/etc/lifepod/manifests/web.yaml", webPod)
	c.write("/etc/lifepod/manifests/bomb.yaml", bomb)
	c.run("systemctl start lifepod-agent.service")
	c.await(time.Minute, webReady)
	c.await(time.Minute, "grep -hE '^max [1-9]' $(find /sys/fs/cgroup -path '*/lifepod/*' -name pids.events)")
	c.run(webReady)
	c.forget("bomb", "web")
	c.run("systemctl stop lifepod-agent.service")
}

// configure has the stopped agent run the pods of the folder with lines of a
// KubeletConfiguration.
func (c check) configure(lines string) {
	c.Helper()
	c.run("systemctl stop lifepod-agent.service lifepod-up.service; rm -f /etc/lifepod/manifests/*")
	c.write("/etc/default/lifepod", `LIFEPOD_AGENT_ARGS="--config=/etc/lifepod/kubelet.yaml"`)
	c.writeConfiguration("staticPodPath: /etc/lifepod/manifests\n" + lines)
}

// forget takes pods out of the folder and awaits that nothing is left of them.
func (c check) forget(pods ...string) {
	c.Helper()
	for _, pod := range pods {
		c.run("rm /etc/lifepod/manifests/" + pod + ".yaml")
	}
	c.await(time.Minute, "! lifepod ps | grep -E '"+strings.Join(pods, "|")+"'")
}

// writeConfiguration writes a KubeletConfiguration, in which the machine's shell replaces
// its substitutions.
func (c check) writeConfiguration(lines string) {
	c.Helper()
	c.run(`mkdir -p /etc/lifepod; cat > /etc/lifepod/kubelet.yaml <<END-OF-FILE
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
` + lines + `
END-OF-FILE`)
}
