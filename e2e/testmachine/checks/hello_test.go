//go:build testmachine

package checks

import (
	"regexp"
	"time"
)

// hello: the machine is what it is meant to be, and runs a pod with what the package
// has installed.
func hello(c check) {
	c.expect(c.run("stat -fc %T /sys/fs/cgroup; cat /sys/module/apparmor/parameters/enabled; ps -o comm= -p 1; uname -r"),
		"cgroup2fs", "Y\n", "systemd")
	c.run("lifepod doctor")
	c.expect(c.run("lifepod run examples/hello.yaml"), "Hello from hello", "pod Succeeded")
}

// mlWorker: all containers of a pod are restarted in place.
func mlWorker(c check) {
	out := c.run("lifepod run examples/ml-worker.yaml")
	c.expect(out, "→ restart all containers", "worker started (1st restart)", "going on from the checkpoint", "pod Succeeded")
	c.Logf("from exit 88 to the worker's restart: %s", regexp.MustCompile(`(?m)^\S+ (watcher exited 88|worker started \(1st).*$`).FindAllString(out, -1))
}

// poweroff: the machine switches itself off.
func poweroff(c check) {
	c.run("systemctl poweroff --no-block")
	if err := c.machine.AwaitOff(2 * time.Minute); err != nil {
		c.Fatal(err)
	}
}
