//go:build testmachine

package checks

import "time"

// oom: a container that uses more memory than it may is killed as a whole, although only
// one of its processes was too large, and its status says why (B-OOM-1).
func oom(c check) {
	c.write("oom.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: oom}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: lifepod.dev/toolbox:1, command: [sh, -c, "cat /sys/fs/cgroup/memory.oom.group; eat-memory 256Mi & sleep 1000"],
     resources: {limits: {memory: 64Mi}}}`)
	c.expect(c.run("lifepod run -o json oom.yaml; code=$?; dmesg | grep -i 'memory cgroup out of memory' | tail -3; echo exit code $code"),
		`"text":"1\n"`, `"reason":"OOMKilled"`, "exit code 137", "Memory cgroup out of memory")
}

// resources: what a pod may use, as cgroup v2 has it.
func resources(c check) {
	c.write("limits.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: limits}
spec:
  containers:
  - {name: main, image: lifepod.dev/toolbox:1, command: [sleep, --on-term=0, infinity],
     resources: {requests: {cpu: 250m, memory: 32Mi}, limits: {cpu: 500m, memory: 64Mi}}}`)
	c.run("lifepod run limits.yaml >limits.log 2>&1 &")
	c.await(30*time.Second, "grep 'pod Ready' limits.log")
	files := c.run(`id=$(lifepod status limits -o yaml | sed -n 's|.*containerID: containerd://||p')
container=$(find /sys/fs/cgroup -type d -name "*$id*" | head -1)
pod=$(dirname $container)
echo $container
for level in container pod; do
  for file in memory.max memory.high memory.min memory.swap.max memory.oom.group cpu.weight cpu.max pids.max cgroup.type; do
    echo $level $file $(cat ${!level}/$file)
  done
done
cat $pod/cgroup.controllers /sys/fs/cgroup/cgroup.subtree_control`)
	// Of the same shares runc makes another weight than Kubernetes, whose pods have the linear one.
	c.expect(files,
		"container memory.max 67108864\n", "pod memory.max 67108864\n", "container memory.oom.group 1\n",
		"container cpu.max 50000 100000\n", "pod cpu.max 50000 100000\n", "container cpu.weight 35\n", "pod cpu.weight 10\n",
		"container memory.swap.max 0\n")
	c.run("lifepod stop limits")
	c.expect(c.run("find /sys/fs/cgroup -path '*lifepod*pod*' -type d | grep -v system.slice || echo none"), "none\n")
}
