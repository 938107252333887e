//go:build testmachine

package checks

import (
	"strings"
	"time"

	"github.com/lifepod/lifepod/e2e/testmachine"
)

// joinService is what a second machine runs.
const joinService = `
[Unit]
Wants=network-online.target
After=network-online.target
[Service]
Type=notify
ExecStart=/usr/bin/JOIN
Restart=always
KillMode=process
Delegate=yes
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target`

// apart has a Deployment's pods run on different machines.
const apart = `lifepod kubectl patch deployment web -p '{"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}, "template": {"spec": {"topologySpreadConstraints": [
{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]}}}}'`

// join: a second machine joins over the network. Pods, Services and names reach across,
// logs and commands as well; when it reboots, its pod begins again, and the first machine's
// runs on.
func join(c check) {
	c.startUp()
	c.run("systemctl stop lifepod-up.service")
	c.write("/etc/default/lifepod", `LIFEPOD_UP_ARGS="--listen `+testmachine.Number(1).Address()+`:6443"`)
	c.startUp()
	second := start(c.T, 2, c.network)
	token, command, found := strings.Cut(c.run("lifepod token create --print-join-command"), " | sudo ")
	if !found {
		c.Fatalf("lifepod token create prints no command: %s", token)
	}
	second.run("umask 77; " + token + " > /root/token")
	second.write("/etc/systemd/system/lifepod-join.service", strings.ReplaceAll(joinService, "JOIN", strings.Replace(strings.TrimSpace(command), "--token-file -", "--token-file /root/token", 1)))
	second.run("systemctl daemon-reload; systemctl enable lifepod-join.service; systemctl start --no-block lifepod-join.service")
	c.await(2*time.Minute, "lifepod kubectl wait --for=condition=Ready --timeout=5s node/"+testmachine.Number(2).Name())
	c.deploy()
	c.run(apart)
	c.await(2*time.Minute, "lifepod kubectl rollout status --timeout=5s deployment/web")
	c.Log(c.run("lifepod kubectl get nodes,pods -o wide; ip route"))
	fetches := "for pod in $(" + runningPods + "); do lifepod kubectl exec $pod -- fetch http://web.default.svc.cluster.local/ && lifepod kubectl logs $pod > /dev/null || exit 1; done"
	c.await(time.Minute, fetches)
	process := c.run(webProcess)

	second.run("systemctl reboot --no-block")
	boot := second.awaitBoot()
	c.await(2*time.Minute, "lifepod kubectl get node "+testmachine.Number(2).Name()+" -o jsonpath={.status.nodeInfo.bootID} | grep "+boot)
	c.await(2*time.Minute, "lifepod kubectl wait --for=condition=Ready --timeout=5s node --all && lifepod kubectl rollout status --timeout=5s deployment/web")
	c.await(time.Minute, fetches)
	if after := c.run(webProcess); after != process {
		c.Errorf("after a reboot of the second machine the first one's container is process %s, before it was %s", after, process)
	}
	c.Log(c.run("lifepod kubectl get nodes,pods -o wide; lifepod kubectl get events | tail -30"))
	second.run("systemctl stop lifepod-join.service; lifepod down --purge")
	c.run("lifepod kubectl delete -f deployment.yaml; lifepod kubectl delete node " + testmachine.Number(2).Name() + "; rm /etc/default/lifepod")
}
