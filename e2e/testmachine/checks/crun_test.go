//go:build testmachine

package checks

import (
	"strings"
	"time"
)

// crun: pods whose containers the machine's crun makes, beside one of runc. Debian 12 has one
// that is too old, which is refused by name, and runc goes on without being asked for.
func crun(c check) {
	if has := c.run("crun --version | head -1"); strings.HasPrefix(has, "crun version 1.8.") {
		out, _ := c.try("lifepod run --runtime crun examples/hello.yaml; echo exit code $?; lifepod doctor | grep crun; lifepod run examples/hello.yaml")
		c.expect(out.Output, "lifepod: --runtime crun: crun 1.8.1 (/usr/bin/crun) is too old: want 1.14.3 or newer", "exit code 125", "not for --runtime crun", "Hello from hello")
		return
	}
	c.expect(c.run("lifepod doctor | grep crun"), "can make containers here")
	c.expect(c.run("lifepod run --runtime crun examples/hello.yaml"), "Hello from hello", "pod Succeeded")
	c.expect(c.run("lifepod run --runtime crun examples/ml-worker.yaml"), "worker started (1st restart)", "going on from the checkpoint", "pod Succeeded")

	// Users of its own, limits, an exec probe, a command from outside; and which program made it.
	c.write("crun.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: by-crun}
spec:
  hostUsers: false
  containers:
  - {name: main, image: lifepod.dev/toolbox:1, command: [sleep, --on-term=0, infinity],
     readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}, resources: {limits: {memory: 64Mi, cpu: 500m}}}`)
	c.write("runc.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: by-runc}
spec:
  containers:
  - {name: main, image: lifepod.dev/toolbox:1, command: [sleep, --on-term=0, infinity]}`)
	c.run("lifepod run --runtime crun crun.yaml >crun.log 2>&1 &")
	c.await(30*time.Second, "grep 'pod Ready' crun.log")
	c.run("lifepod run runc.yaml >runc.log 2>&1 &")
	c.await(30*time.Second, "grep 'pod Ready' runc.log")
	const made = `for pod in by-crun by-runc; do
  id=$(lifepod status $pod -o yaml | sed -n 's|.*containerID: containerd://||p')
  for by in runc crun; do [ ! -d /run/lifepod/$by/k8s.io/$id ] || echo $pod made by $by; done
done
`
	c.expect(c.run(made), "by-crun made by crun", "by-runc made by runc")
	c.expect(c.run("lifepod exec by-crun -- sh -c 'cat /proc/self/uid_map /sys/fs/cgroup/memory.max'"), " 65536\n", "67108864\n")

	// A lifepod that does not ask for crun goes on with the pod that has it.
	c.run("kill -9 $(pgrep -f 'lifepod run --runtime crun')\nlifepod run crun.yaml >again.log 2>&1 &")
	c.await(30*time.Second, "lifepod restart by-crun -c main")
	c.expect(c.run(made), "by-crun made by crun", "by-runc made by runc")
	c.run("lifepod stop by-crun; lifepod stop by-runc")
	c.await(30*time.Second, "[ ! -e /run/lifepod ]")
	c.expect(c.run("lifepod doctor | grep leftovers; lifepod run examples/hello.yaml; ls /var/lib/lifepod/crun.path 2>&1 || true"), "none below", "No such file")
}
