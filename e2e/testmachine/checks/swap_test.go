//go:build testmachine

package checks

import "time"

// swap: with LimitedSwap a Burstable container has its part of the machine's swap, and
// uses it instead of being killed; others, and critical pods, have none (A-CRI-11).
func swap(c check) {
	c.run("[ -e /swap ] || { fallocate -l 512M /swap; chmod 600 /swap; mkswap -q /swap; swapon /swap; }; swapon --show")
	c.startUp()
	c.configureUp("failSwapOn: false\nmemorySwap: {swapBehavior: LimitedSwap}")
	c.write("swapper.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: swapper}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: burstable, image: lifepod.dev/toolbox:1, command: [eat-memory, 200Mi], resources: {requests: {memory: 1Gi}, limits: {memory: 1100Mi}}}
  - {name: small, image: lifepod.dev/toolbox:1, command: [eat-memory, 430Mi], resources: {requests: {memory: 400Mi}, limits: {memory: 410Mi}}}
  - {name: guaranteed, image: lifepod.dev/toolbox:1, command: [sleep, infinity], resources: {requests: {memory: 32Mi}, limits: {memory: 32Mi}}}`)
	c.run("lifepod kubectl apply -f swapper.yaml")
	c.await(time.Minute, cgroupOf+`[ $(cat $(cgroup_of swapper small)/memory.swap.current) -gt 0 ] && lifepod logs swapper -c small | grep eaten`)
	c.expect(c.run(cgroupOf+`memory=$(awk '/^MemTotal/ {print $2}' /proc/meminfo) swap=$(awk '/^SwapTotal/ {print $2}' /proc/meminfo)
for container in burstable:1048576 small:409600 guaranteed:0; do
  want=$((${container#*:} * swap / memory / 4 * 4096)) got=$(cat $(cgroup_of swapper ${container%:*})/memory.swap.max)
  [ $((got - want)) -le 4096 -a $((want - got)) -le 4096 ] && echo $container has $got || echo $container has $got, not $want
done`), "burstable:1048576 has ", "small:409600 has ", "guaranteed:0 has 0\n")
	c.expect(c.run("lifepod kubectl get pod swapper"), "3/3     Running   0 ")
	c.run("lifepod kubectl delete pod swapper; swapoff /swap; rm /swap")
}
