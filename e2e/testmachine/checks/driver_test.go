//go:build testmachine

package checks

import "time"

// systemdDriver: with the cgroup driver systemd pods are slices and containers scopes of
// systemd, with the values of the pod; they live on when the agent is stopped, and are gone
// when they are.
func systemdDriver(c check) {
	c.run("systemctl stop lifepod-agent.service; rm -f /etc/lifepod/manifests/*")
	c.write("/etc/lifepod/kubelet.yaml", `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
staticPodPath: /etc/lifepod/manifests`)
	c.write("/etc/default/lifepod", `LIFEPOD_AGENT_ARGS="--config=/etc/lifepod/kubelet.yaml"`)
	c.write("/etc/lifepod/manifests/web.yaml", webPod+`
    resources: {requests: {cpu: 250m, memory: 32Mi}, limits: {cpu: 500m, memory: 64Mi}}`)
	c.run("systemctl start lifepod-agent.service")
	c.await(time.Minute, webReady)
	before := c.run(webProcess)
	c.expect(c.run(slices), "pod memory.max 67108864\n", "pod cpu.max 50000 100000\n", "pod cpu.weight 10\n", "class cpu.weight 10\n",
		"scope memory.max 67108864\n", "scope cpu.weight 35\n", "scope memory.swap.max 0\n")
	c.run("systemctl daemon-reload; systemctl restart lifepod-agent.service")
	c.await(time.Minute, webReady)
	if after := c.run(webProcess); after != before {
		c.Errorf("the container is process %s, before it was %s", after, before)
	}
	c.expect(c.run(slices), "pod memory.max 67108864\n", "class cpu.weight 10\n", "scope memory.max 67108864\n")
	c.run("systemctl kill --signal=KILL --kill-who=main lifepod-agent.service")
	c.await(time.Minute, "systemctl is-active lifepod-agent.service && "+webReady)
	if after := c.run(webProcess); after != before {
		c.Errorf("after a kill the container is process %s, before it was %s", after, before)
	}
	c.expect(c.run("lifepod run examples/hello.yaml"), "pod Succeeded") // of the same root, with the driver that it has
	c.run("rm /etc/lifepod/manifests/web.yaml")
	c.await(time.Minute, "! lifepod ps | grep web")
	c.run("systemctl stop lifepod-agent.service")
	c.expect(c.run("ls -d /sys/fs/cgroup/lifepod* 2>&1; systemctl list-units --all --no-legend '*lifepod*.slice' 'cri-containerd*'; echo nothing else"),
		"cannot access '/sys/fs/cgroup/lifepod*': No such file or directory\nnothing else\n")
}

// slices prints what the pod web has.
const slices = `cd /sys/fs/cgroup/lifepod.slice/lifepod-burstable.slice
pod=$(ls -d lifepod-burstable-pod*.slice)
scope=$(dirname $(grep -l "^$(pgrep -f '^serve --port=8080')$" $pod/*.scope/cgroup.procs))
show() { for file in memory.max memory.swap.max cpu.weight cpu.max; do echo $1 $file $(cat $2/$file); done; }
show class .; show pod $pod; show scope $scope`
