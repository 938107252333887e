package e2e

import (
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// workload is a manifest of something that makes pods of a template.
func workload(kind, name, fields, script string) string {
	selector := "selector: {matchLabels: {app: " + name + "}}"
	if strings.HasPrefix(kind, "batch") {
		selector = "{}"
	}
	version, kind, _ := strings.Cut(kind, " ")
	text := "\n---\napiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec:\n"
	if selector != "{}" {
		text += "  " + selector + "\n"
	}
	for line := range strings.Lines(fields) {
		text += "  " + strings.TrimRight(line, "\n") + "\n"
	}
	var more []string
	if selector == "{}" {
		more = append(more, "restartPolicy: Never")
	}
	return text + "  template:\n    metadata: {labels: {app: " + name + "}}\n    spec:" + indent(podSpec(script, more...), 6)
}

// running waits until a pod that these labels select runs, and is not that one.
func (s space) running(labels, not string) *core.Pod {
	s.t.Helper()
	return awaitSelected(s, "pods", meta.ListOptions{LabelSelector: labels}, "run", func(p *core.Pod) bool {
		return p.Name != not && p.Status.Phase == core.PodRunning && isReady(p)
	})
}

// A StatefulSet's volume of the default StorageClass outlives the pod.
func TestStatefulSetVolume(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	manifest := workload("apps/v1 StatefulSet", "db", `serviceName: db
volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]`,
		"echo started >> /data/log; exec sleep --on-term 0 1h")
	s.create(strings.Replace(manifest, "        image:", "        volumeMounts: [{name: data, mountPath: /data}]\n        image:", 1))
	first := s.running("app=db", "")
	s.kubectl("delete", "pod", "db-0")
	s.pod("db-0", "be another one and run", func(p *core.Pod) bool { return p.UID != first.UID && isReady(p) })
	assert.Deep(t, "what both pods wrote", "started\nstarted", s.kubectl("exec", "db-0", "--", "cat", "/data/log"))
}

const cronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: yearly}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: "lifepod.dev/toolbox:1", command: ["true"], resources: {limits: {memory: 32Mi}}}]}
`

// A CronJob that has missed its time, as if it were years old, makes its Job at once;
// people make one whenever they like.
func TestCronJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(cronJob)
	s.kubectl("patch", "cronjob", "yearly", "--subresource=status", "--type=merge", "-p", `{"status":{"lastScheduleTime":"2024-06-01T00:00:00Z"}}`)
	s.wait("cronjob/yearly", "jsonpath={.status.lastSuccessfulTime}")
	s.kubectl("create", "job", "now", "--from=cronjob/yearly")
	s.wait("job --all", "condition=Complete")
	owners := s.kubectl("get", "jobs", "-o", "jsonpath={.items[*].metadata.ownerReferences[*].name}")
	assert.Deep(t, "whose the jobs are", "yearly yearly", owners)
}

// A Job that has ended goes with its pods when its time to live is over.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(workload("batch/v1 Job", "brief", "ttlSecondsAfterFinished: 0", "exit 0"))
	s.wait("job/brief", "delete")
	s.wait("pod --all", "delete")
}
