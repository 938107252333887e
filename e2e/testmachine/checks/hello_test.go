//go:build testmachine

package checks

import "regexp"

// hello: the machine is what it is meant to be, and runs a pod with what the package
// has installed.
func hello(c check) {
	groups := "cgroup2fs"
	if *cgroupV1 {
		groups = "tmpfs"
	}
	c.expect(c.run("stat -fc %T /sys/fs/cgroup; cat /sys/module/apparmor/parameters/enabled; ps -o comm= -p 1; dpkg --print-architecture; uname -rm"),
		groups, "Y\n", "systemd", *architecture+"\n")
	c.run("lifepod doctor")
	c.expect(c.run("lifepod run examples/hello.yaml"), "Hello from hello", "pod Succeeded")
}

// mlWorker: all containers of a pod are restarted in place.
func mlWorker(c check) {
	out := c.run("lifepod run examples/ml-worker.yaml")
	c.expect(out, "→ restart all containers", "worker started (1st restart)", "going on from the checkpoint", "pod Succeeded")
	c.Logf("from exit 88 to the worker's restart: %s", regexp.MustCompile(`(?m)^\S+ (watcher exited 88|worker started \(1st).*$`).FindAllString(out, -1))
}

// detached: a pod in the background is led by a process in a scope of its own, which does not end with the session.
func detached(c check) {
	c.expect(c.run("lifepod run -d examples/probes.yaml; lifepod wait probes --for=condition=Ready --timeout 0"), "default/probes\n")
	c.expect(c.run("systemctl list-units --plain --no-legend --type scope"), "lifepod run -d examples/probes.yaml")
	c.run("lifepod stop probes; lifepod down")
}
