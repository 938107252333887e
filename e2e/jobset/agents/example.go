package agents

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// example is what KEP-467's example has in a pod beside its worker, in the words of the release: RestartAllContainers is
// the KEP's RestartPod, there is no action Terminate, and path, port and variables are those of the agent's program. The
// two last variables and the alias are for the tests' API server, which is at no address of a Service.
const example = `
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
`

// groupAnnotation begins what makes pods a group of lifepod's.
const groupAnnotation = "lifepod.dev/group"

// Into makes of a JobSet whose pods are a group of lifepod's one whose pods have the agent instead, on some nodes only.
func (a *Agents) Into(manifest string, nodes []string) (string, error) {
	var jobSet unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(manifest), &jobSet.Object); err != nil {
		return "", fmt.Errorf("read a JobSet: %w", err)
	}
	jobs, _, err := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	if err != nil {
		return "", err
	}
	for _, job := range jobs {
		if err := a.change(job, nodes); err != nil {
			return "", err
		}
	}
	if err := unstructured.SetNestedSlice(jobSet.Object, jobs, "spec", "replicatedJobs"); err != nil {
		return "", err
	}
	text, err := jobSet.MarshalJSON()
	return string(text), err
}

// change changes the pod template of a replicated Job.
func (a *Agents) change(job any, nodes []string) error {
	fields, ok := job.(map[string]any)
	if !ok {
		return errors.New("a replicated Job is no object")
	}
	template := []string{"template", "spec", "template"}
	unstructured.RemoveNestedField(fields, slices.Concat(template, []string{"metadata", "annotations", groupAnnotation})...)
	var added map[string]any
	text := strings.NewReplacer("IMAGE", a.image, "NUMBER", fmt.Sprint(a.config.Plane.Port()), "ADDRESS", a.config.Address).Replace(example)
	if err := yaml.Unmarshal([]byte(text), &added); err != nil {
		return err
	}
	added["affinity"] = on(nodes)
	for name, value := range added {
		if err := unstructured.SetNestedField(fields, value, slices.Concat(template, []string{"spec", name})...); err != nil {
			return err
		}
	}
	return nil
}

// on is an affinity to some nodes alone.
func on(nodes []string) map[string]any {
	var names []any
	for _, name := range nodes {
		names = append(names, name)
	}
	term := map[string]any{"matchExpressions": []any{map[string]any{"key": v1.LabelHostname, "operator": "In", "values": names}}}
	return map[string]any{"nodeAffinity": map[string]any{
		"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{term}},
	}}
}
