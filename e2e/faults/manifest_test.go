package faults

import (
	"fmt"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// witness begins every container's script: w writes one line, in one write, to
// the pod's file in the folder that all pods of a node have.
const witness = `
mkdir -p /tmp
read id < /proc/sys/kernel/random/uuid
w() { printf '%s\n' "$NAME $id $1" >> /w/$POD_UID; }
`

// beats goes on until it is told to end.
const beats = "\nwhile true; do w beat; sleep 0.1; done"

// endsInOrder takes SIGTERM as most programs do.
const endsInOrder = "trap 'w term; exit 0' TERM; w start\n"

// container is one that runs a script after the witness's own.
func container(name, script string, more map[string]any) map[string]any {
	c := map[string]any{
		"name": name, "image": "lifepod.dev/toolbox:1", "command": []string{"sh", "-c", witness + script},
		"env": []map[string]any{
			{"name": "NAME", "value": name},
			{"name": "POD_UID", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.uid"}}},
		},
		"volumeMounts": []map[string]any{{"name": "w", "mountPath": "/w"}, {"name": "scratch", "mountPath": "/scratch"}},
		"resources":    map[string]any{"limits": map[string]any{"memory": "64Mi"}, "requests": map[string]any{"cpu": "1m", "memory": "1Mi"}},
	}
	maps.Copy(c, more)
	return c
}

// probe asks an exec or HTTP question each second; no answer on a busy machine is
// not a failure.
func probe(action map[string]any, failures int) map[string]any {
	p := map[string]any{"periodSeconds": 1, "timeoutSeconds": 60, "failureThreshold": failures}
	maps.Copy(p, action)
	return p
}

func httpGet(port int) map[string]any {
	return map[string]any{"httpGet": map[string]any{"port": port}}
}

func isThere(file string) map[string]any {
	return map[string]any{"exec": map[string]any{"command": []string{"sh", "-c", "[ -e " + file + " ]"}}}
}

// pod has containers and init containers that write to the folder of witnesses.
func (n *node) pod(t *testing.T, name string, spec map[string]any) *v1.Pod {
	t.Helper()
	whole := map[string]any{
		"nodeName": n.Name, "restartPolicy": "Always", "terminationGracePeriodSeconds": 10,
		"automountServiceAccountToken": false,
		"volumes": []map[string]any{
			{"name": "w", "hostPath": map[string]any{"path": n.dir}},
			{"name": "scratch", "emptyDir": map[string]any{}},
		},
	}
	maps.Copy(whole, spec)
	text := assert.Get(yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": whole,
		"metadata": map[string]any{
			"name": fmt.Sprintf("%s-%s", name, n.Root.Hash()), "namespace": "default",
			"annotations": map[string]any{"restart.lifepod.dev/back-off": "none"},
		},
	})).Must(t)
	pod := &v1.Pod{}
	assert.Must(t, yaml.UnmarshalStrict(text, pod))
	return pod
}

// steady is a pod that becomes ready and has no reason ever to change.
func (n *node) steady(t *testing.T, name string) *v1.Pod {
	p := n.pod(t, name, map[string]any{
		"automountServiceAccountToken": true,
		"containers": []any{container("main", "serve --port 8080 >/dev/null &\n"+endsInOrder+beats, map[string]any{
			"startupProbe": probe(httpGet(8080), 1000), "readinessProbe": probe(httpGet(8080), 1), "livenessProbe": probe(httpGet(8080), 1),
		})},
	})
	p.Labels = map[string]string{steadyLabel: "true"}
	return p
}

// untilStopped ends a life with a code after a while, but for the last one, which
// begins or goes on when the file stop is there.
func untilStopped(code string) string {
	return `
n=0; [ -e /scratch/n ] && read n < /scratch/n
n=$((n + 1)); echo $n > /scratch/n
i=0; lasts=$((n * 13 % 20 + 5))
while [ $i -lt $lasts ] || [ -e /w/stop ]; do w beat; sleep 0.1; i=$((i + 1)); done
code=` + code + `
w exit-$code; exit $code`
}

// restarting is a pod whose container ends again and again, well or with a crash,
// beside one that doesn't.
func (n *node) restarting(t *testing.T, name string) *v1.Pod {
	return n.pod(t, name, map[string]any{"containers": []any{
		container("main", endsInOrder+untilStopped("$((n % 2))"), map[string]any{"readinessProbe": probe(isThere("/tmp"), 1)}),
		container("beside", endsInOrder+beats, nil),
	}})
}

// restartingAll is a pod whose containers all restart by a rule, again and again,
// and at times only the one.
func (n *node) restartingAll(t *testing.T, name string) *v1.Pod {
	rule := map[string]any{"action": "RestartAllContainers", "exitCodes": map[string]any{"operator": "In", "values": []int{88}}}
	return n.pod(t, name, map[string]any{
		"initContainers": []any{
			container("init", "w start; sleep 0.1; w exit-0", nil),
			container("side", endsInOrder+"touch /tmp/up\n"+beats, map[string]any{
				"restartPolicy": "Always", "startupProbe": probe(isThere("/tmp/up"), 1000),
			}),
		},
		"containers": []any{container("main", endsInOrder+untilStopped("$((n % 3 * 44))"), map[string]any{
			"restartPolicy": "Always", "restartPolicyRules": []any{rule},
		})},
	})
}

// shortLived is a pod that is deleted some time, with a hook before its end, which
// may come before its container has come to anything.
func (n *node) shortLived(t *testing.T, name string) *v1.Pod {
	hook := map[string]any{"exec": map[string]any{"command": []string{"sh", "-c", `read id < /tmp/id && printf '%s\n' "main $id prestop" >> /w/$POD_UID`}}}
	return n.pod(t, name, map[string]any{"containers": []any{
		container("main", endsInOrder+"echo $id > /tmp/id\n"+beats, map[string]any{"lifecycle": map[string]any{"preStop": hook}}),
		container("other", endsInOrder+beats, nil),
	}})
}
