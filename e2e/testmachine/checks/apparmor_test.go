//go:build testmachine

package checks

import "fmt"

// appArmor: containers run under the runtime's profile, under one of the machine, or
// under none; one that the machine has not loaded is refused.
func appArmor(c check) {
	c.run(`apparmor_parser --replace <<'END'
#include <tunables/global>
profile no-shadow flags=(attach_disconnected) {
  #include <abstractions/base>
  file,
  network,
  capability,
  deny /etc/secret r,
}
END`)
	for profile, want := range map[string][]string{
		"{type: RuntimeDefault}":                            {"cri-containerd.apparmor.d (enforce)", "pod Succeeded"},
		"{type: Localhost, localhostProfile: no-shadow}":    {"no-shadow (enforce)", "permission denied", "pod Failed"},
		"{type: Unconfined}":                                {"unconfined", "pod Succeeded"},
		"{type: Localhost, localhostProfile: never-loaded}": {"never-loaded"},
	} {
		c.write("apparmor.yaml", fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: secret}
data: {secret: told}
---
apiVersion: v1
kind: Pod
metadata: {name: apparmor}
spec:
  restartPolicy: Never
  securityContext: {appArmorProfile: %s}
  volumes: [{name: secret, configMap: {name: secret}}]
  containers:
  - name: main
    image: lifepod.dev/toolbox:1
    command: [sh, -c, "cat /proc/self/attr/current; cat /etc/secret"]
    volumeMounts: [{name: secret, mountPath: /etc/secret, subPath: secret}]`, profile))
		c.expect(c.run("lifepod run --fail-fast apparmor.yaml 2>&1; true"), want...)
	}
}
