package e2e

import (
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/compare"
	"github.com/lifepod/lifepod/internal/must"
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

// A rule of a Job ends it at an exit code; another doesn't count a pod that was
// evicted, for which there is a new one.
func TestJobFailurePolicy(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(workload("batch/v1 Job", "ends", `backoffLimit: 6
podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: main, operator: In, values: [42]}}]}`, "exit 42") +
		workload("batch/v1 Job", "goes-on", `backoffLimit: 0
podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}`, "exec sleep 1h"))
	first := s.running("app=goes-on", "")
	evict := policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: first.Name, Namespace: s.name}}
	must.Succeed(t, client.PolicyV1().Evictions(s.name).Evict(t.Context(), &evict))
	s.running("app=goes-on", first.Name)
	s.wait("job/ends", "condition=Failed")
	for name, want := range map[string]string{"ends": "PodFailurePolicy 1", "goes-on": ""} {
		got := s.kubectl("get", "job", name, "-o", `jsonpath={.status.conditions[?(@.type=="Failed")].reason} {.status.failed}`)
		compare.Equal(t, fmt.Sprintf("job %s", name), want, strings.TrimSpace(got))
	}
}

// running waits until a pod that these labels select runs, and is not that one.
func (s space) running(labels, not string) *core.Pod {
	s.t.Helper()
	return awaitSelected(s, "pods", meta.ListOptions{LabelSelector: labels}, "run", func(p *core.Pod) bool {
		return p.Name != not && p.Status.Phase == core.PodRunning && isReady(p)
	})
}

// A DaemonSet has its pod on the node, and replaces it when the template changes.
func TestDaemonSet(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(workload("apps/v1 DaemonSet", "each", "", "exec sleep --on-term 0 1h"))
	before := s.running("app=each", "")
	s.kubectl("set", "env", "daemonset/each", "CHANGED=yes")
	s.kubectl("rollout", "status", "daemonset/each", "--timeout="+patience.String())
	after := s.running("app=each", before.Name)
	if env := after.Spec.Containers[0].Env; len(env) != 1 || env[0].Value != "yes" {
		t.Errorf("the new pod has the environment %v, want the template's", env)
	}
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
	compare.Equal(t, "what both pods wrote", "started\nstarted", s.kubectl("exec", "db-0", "--", "cat", "/data/log"))
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
	compare.Equal(t, "whose the jobs are", "yearly yearly", owners)
}

// A Job that has ended goes with its pods when its time to live is over.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(workload("batch/v1 Job", "brief", "ttlSecondsAfterFinished: 0", "exit 0"))
	s.wait("job/brief", "delete")
	s.wait("pod --all", "delete")
}

// One container's exit code starts all of the pod anew (KEP-5532), its init
// container first.
func TestRestartAllContainers(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("whole", podSpec("exec sleep --on-term 0 1h", `- name: asks
  image: lifepod.dev/toolbox:1
  command: [sh, -c, "if [ -e /v/second ]; then exec sleep --on-term 0 1h; fi; touch /v/second; exit 42"]
  restartPolicy: Never
  restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]
  volumeMounts: [{name: v, mountPath: /v}]
  resources: {limits: {memory: 32Mi}}
initContainers:
- {name: before, image: "lifepod.dev/toolbox:1", command: [sh, -c, "echo init >> /v/init"], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {memory: 32Mi}}}
volumes: [{name: v, emptyDir: {}}]`)))
	s.pod("whole", "run with every container restarted once", func(p *core.Pod) bool {
		n := 0
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Running != nil && c.RestartCount == 1 {
				n++
			}
		}
		return n == 2
	})
	compare.Equal(t, "runs of the init container", "init\ninit", s.kubectl("exec", "whole", "-c", "asks", "--", "cat", "/v/init"))
}
