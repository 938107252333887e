//go:build testmachine

package checks

import (
	"strings"
	"time"
)

// reboot: after a reboot in the middle the pods of the agent's folder run again, which the
// service sees to; those of before have gone with all that they had.
func reboot(c check) {
	c.startAgent()
	before := c.run("cat /proc/sys/kernel/random/boot_id")
	c.run("systemctl reboot --no-block")
	boot, err := c.machine.AwaitBoot(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	if boot == strings.TrimSpace(before) {
		c.Fatal("the machine has not rebooted")
	}
	c.await(2*time.Minute, webReady)
	c.run("rm /etc/lifepod/manifests/web.yaml")
	c.await(time.Minute, "! lifepod ps | grep web")
	c.run("systemctl disable --now lifepod-agent.service")
	c.expect(c.run("lifepod doctor | grep leftovers"), "none below /var/lib/lifepod")
}
