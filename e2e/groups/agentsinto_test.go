package groups

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/e2e/imageregistry"
	"github.com/lifepod/lifepod/internal/assert"
)

// agentProgram is the name of JobSet's agent, and of its image.
const agentProgram = "in-place-restart-agent"

// agents are JobSet's own agent containers, as KEP-467 has them: what restarts pods in place on nodes that know nothing of
// groups (docs/groups.md).
type agents struct {
	image   string
	address string // of the machine, at which pods reach the API server
}

// serveAgents serves an image of the agent that `make jobset` has built, until the test ends; nodes that have pulled it keep it. It is
// what the agent's own Dockerfile makes, but for a base that has nothing which the program needs.
func serveAgents(t *testing.T) agents {
	t.Helper()
	program, err := os.ReadFile(plane.Binary(agentProgram))
	assert.Require(t, err == nil, "%v: run `make jobset` first", err)
	content := assert.Get(imageregistry.Program(agentProgram, program)).Must(t)
	registry := imageregistry.Serve(assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t))
	assert.AtEnd(t, registry.Close)
	return agents{assert.Get(registry.Push(agentProgram, content)).Must(t), assert.Get(nodes[0].Address(t.Context())).Must(t)}
}

// allowAgents applies the manifests of KEP-467 in the group's namespace: the agents' service account, which may patch pods and read
// JobSets, and the policy that it may write nothing of a pod but its attempt. That is of one namespace at a time.
func (j *groupOf) allowAgents() {
	j.Helper()
	text := assert.Get(os.ReadFile(filepath.Join(controller.Module(), "keps/467-InPlaceRestart/README.md"))).Must(j)
	_, after, found := strings.Cut(string(text), "```yaml\n# Service account\n")
	manifests, _, ended := strings.Cut(after, "```")
	assert.Require(j, found && ended, "KEP-467 has no manifest of a service account for agents")
	inNamespace := strings.NewReplacer("namespace: default", "namespace: "+j.namespace, ":serviceaccount:default:", ":serviceaccount:"+j.namespace+":")
	assert.Get(plane.Kubectl(j.Context(), inNamespace.Replace(manifests), "apply", "--filename=-")).Must(j)
}

// agentExample is what KEP-467's example has in a pod beside its worker, in the words of the release: RestartAllContainers is
// the KEP's RestartPod, there is no action Terminate, and path, port and variables are those of the agent's program. The
// two last variables and the alias are for the tests' API server, which is at no address of a Service.
const agentExample = `
serviceAccountName: jobset-in-place-restart
initContainers:
- name: agent
  image: IMAGE
  restartPolicy: Always
  restartPolicyRules:
  - action: RestartAllContainers
    exitCodes: {operator: In, values: [113]}
  startupProbe:
    httpGet: {path: /barrier-is-down, port: 8081}
    failureThreshold: 3600
    periodSeconds: 1
  env:
  - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: JOBSET_NAME, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['jobset.sigs.k8s.io/jobset-name']"}}}
  - {name: IN_PLACE_RESTART_EXIT_CODE, value: "113"}
  - {name: KUBERNETES_SERVICE_HOST, value: kubernetes.default.svc}
  - {name: KUBERNETES_SERVICE_PORT, value: "NUMBER"}
hostAliases:
- {ip: ADDRESS, hostnames: [kubernetes.default.svc]}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: ` + v1.LabelHostname + `, operator: In, values: [NODES]}
`

// into makes of a JobSet whose pods are a group of lifepod's one whose pods have the agent instead, on some nodes only.
func (a agents) into(t *testing.T, manifest string, nodes []string) string {
	t.Helper()
	var jobSet unstructured.Unstructured
	assert.Must(t, yaml.Unmarshal([]byte(manifest), &jobSet.Object))
	jobs, _, err := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	assert.Must(t, err)
	var added map[string]any
	filled := strings.NewReplacer("IMAGE", a.image, "NUMBER", fmt.Sprint(plane.Port()), "ADDRESS", a.address, "NODES", strings.Join(nodes, ", "))
	assert.Must(t, yaml.Unmarshal([]byte(filled.Replace(agentExample)), &added))
	template := []string{"template", "spec", "template"}
	for _, job := range jobs {
		job := job.(map[string]any)
		unstructured.RemoveNestedField(job, slices.Concat(template, []string{"metadata", "annotations", "lifepod.dev/group"})...)
		for name, value := range added {
			assert.Must(t, unstructured.SetNestedField(job, value, slices.Concat(template, []string{"spec", name})...))
		}
	}
	assert.Must(t, unstructured.SetNestedSlice(jobSet.Object, jobs, "spec", "replicatedJobs"))
	return string(assert.Get(jobSet.MarshalJSON()).Must(t))
}
