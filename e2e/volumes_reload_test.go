package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// TestReload: secrets, projections and labels are followed too; a bad edit and a
// change of the Pod are reported in one line each and harm nothing (A-VOL-5).
func TestReload(t *testing.T) {
	t.Parallel()
	manifest := `
apiVersion: v1
kind: Secret
metadata: {name: sec}
stringData: {key: one}
---
` + strings.Replace(pod("reload", `
restartPolicy: Never
volumes:
- name: all
  projected:
    sources:
    - secret: {name: sec}
    - downwardAPI: {items: [{path: app, fieldRef: {fieldPath: "metadata.labels['app']"}}]}
containers:
`+shell("main", `
seen=
while true; do
  now="$(cat /all/key) $(cat /all/app)"
  [ "$now" = "$seen" ] || echo "$now"
  seen=$now
  sleep 0.05
done`, "volumeMounts: [{name: all, mountPath: /all}]")),
		"  name: reload\n", "  name: reload\n  labels: {app: shop}\n", 1)
	file := copyOf(t, "pod.yaml", manifest)
	c := shared.start(t, "", "run", file)
	c.await(c.stdout, "one shop\n")
	edit(t, file, "stringData:", "stringDota:")
	c.await(c.stderr, "warning: the manifest has changed and can't be used, nothing is updated: ")
	edit(t, file, "stringDota: {key: one}", "stringData: {key: two}")
	c.await(c.stdout, "two shop\n")
	edit(t, file, "restartPolicy: Never", "restartPolicy: Always")
	c.await(c.stderr, "warning: changed while the pod runs, ignored until it is run again: spec.restartPolicy")
	edit(t, file, "{app: shop}", "{app: store}")
	c.await(c.stdout, "two store\n")
	c.signal(syscall.SIGINT)
	got := c.wait()
	got.want(t, 130, "one shop\ntwo shop\ntwo store\n")
}
