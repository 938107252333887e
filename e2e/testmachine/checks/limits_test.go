//go:build testmachine

package checks

import "time"

// memoryQoS: a node that is told so protects what a container requests, and slows it down before
// it reaches its limit (A-RES-7).
func memoryQoS(c check) {
	c.configure(`memoryReservationPolicy: TieredReservation
memoryThrottlingFactor: 0.5`)
	c.write("/etc/lifepod/manifests/web.yaml", webPod+`
    resources: {requests: {memory: 64Mi}, limits: {memory: 128Mi}}`)
	c.run("systemctl start lifepod-agent.service")
	c.await(time.Minute, webReady)
	c.expect(c.run(cgroupOf+`container=$(cgroup_of web-$(hostname) web); pod=$(dirname $container)
for file in memory.low memory.min memory.high memory.max; do echo container $file $(cat $container/$file); echo pod $file $(cat $pod/$file); done`),
		"container memory.low 67108864\n", "pod memory.low 67108864\n", "container memory.min 0\n",
		"container memory.high 100663296\n", "pod memory.high max\n", "container memory.max 134217728\n")
	c.forget("web")
	c.run("systemctl stop lifepod-agent.service")
}

// cgroupOf defines a shell function: the folder of a container's cgroup, by pod and name.
const cgroupOf = `cgroup_of() {
  id=$(lifepod status $1 -o yaml | awk -v name=$2 '/containerID:/ {id=$NF} $1 == "name:" && $2 == name && id {print id; exit}')
  find /sys/fs/cgroup -type d -name "*${id#containerd://}*" | head -1
}
`

// reserved: what is kept for the system's own services is enforced in their cgroup, and
// the pods have the rest.
func reserved(c check) {
	c.configure(`systemReserved: {memory: 1Gi, cpu: 500m}
systemReservedCgroup: /system.slice
enforceNodeAllocatable: [pods, system-reserved]`)
	c.write("/etc/lifepod/manifests/web.yaml", webPod)
	c.run("systemctl start lifepod-agent.service")
	c.await(time.Minute, webReady)
	c.expect(c.run(`cat /sys/fs/cgroup/system.slice/memory.max
total=$(awk '/^MemTotal/ {print $2}' /proc/meminfo); echo pods $(( total * 1024 - 1073741824 - $(cat /sys/fs/cgroup/lifepod/memory.max) ))`),
		"1073741824\n", "pods 0\n")
	c.forget("web")
	c.run("systemctl stop lifepod-agent.service; echo max > /sys/fs/cgroup/system.slice/memory.max")
}
