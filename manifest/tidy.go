package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// serverMetadata is the metadata that belongs to the cluster from which a manifest was taken. Owners and
// finalizers are among it: nothing on this machine would ever collect or remove them.
var serverMetadata = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields",
	"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers",
}

// staticPodPrefix starts the annotations with which a kubelet marks the Pods of its manifest folder; an
// API server takes them from a kubelet only.
const staticPodPrefix = "kubernetes.io/config."

// dropServerOwned makes a manifest out of the output of kubectl get -o yaml. It is done before anything
// is checked, so that the status may come from any version. Fields of keep stay.
func (o *object) dropServerOwned(keep ...string) (warnings []*Error) {
	var dropped []string
	drop := func(from map[string]any, key, path string) {
		if v, ok := from[key]; ok && !slices.Contains(keep, path) {
			delete(from, key)
			if !isEmpty(v) {
				dropped = append(dropped, path)
			}
		}
	}
	if _, isWorkload := workloadKinds[o.kind]; isWorkload || o.kind == "Pod" || o.kind == claimKind {
		drop(o.value, "status", "status")
	}
	if o.kind == "Pod" {
		drop(mapping(o.value, "spec"), "nodeName", "spec.nodeName")
	}
	annotations := mapping(mapping(o.value, "metadata"), "annotations")
	for _, key := range sortedKeys(annotations) {
		if strings.HasPrefix(key, staticPodPrefix) {
			drop(annotations, key, "metadata.annotations["+key+"]")
		}
	}
	for _, key := range serverMetadata {
		drop(mapping(o.value, "metadata"), key, "metadata."+key)
	}
	if dropped == nil {
		return nil
	}
	return []*Error{o.warning("", "dropped what belongs to the cluster this %s came from: %s", o.kind, strings.Join(dropped, ", "))}
}

// isEmpty says whether a generic value is one that kubectl writes for nothing, such as status: {}.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return reflect.ValueOf(v).IsZero()
	}
}

// readOnExit takes the form onExit: {exitCodes: …} of restart rules, which drafts of KEP-5307 had and
// published examples still have, for exitCodes: …
func (o *object) readOnExit() (warnings []*Error) {
	spec := mapping(o.value, "spec")
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for i, container := range containers {
			c, _ := container.(map[string]any)
			rules, _ := c["restartPolicyRules"].([]any)
			for j, rule := range rules {
				if r, _ := rule.(map[string]any); unwrapOnExit(r) {
					path := fmt.Sprintf("spec.%s[%d].restartPolicyRules[%d].onExit", list, i, j)
					warnings = append(warnings, o.warning(path, "read as exitCodes: Kubernetes has exitCodes directly below the rule, and no onExit"))
				}
			}
		}
	}
	return warnings
}

// unwrapOnExit lifts exitCodes out of onExit if that is all that is in it, and not there already.
func unwrapOnExit(rule map[string]any) bool {
	onExit := mapping(rule, "onExit")
	exitCodes, inside := onExit["exitCodes"]
	_, outside := rule["exitCodes"]
	if !inside || outside || len(onExit) != 1 {
		return false
	}
	delete(rule, "onExit")
	rule["exitCodes"] = exitCodes
	return true
}

// apiAccessPrefix starts the name of the volume that an API server adds to every Pod for its service account.
const apiAccessPrefix = "kube-api-access-"

// dropAPIAccess removes that volume, which there is no API server to fill for.
func dropAPIAccess(o *object, pod *v1.Pod) (warnings []*Error) {
	var dropped []string
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		if !strings.HasPrefix(v.Name, apiAccessPrefix) || v.Projected == nil {
			return false
		}
		dropped = append(dropped, v.Name)
		return true
	})
	if dropped == nil {
		return nil
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m v1.VolumeMount) bool {
				return slices.Contains(dropped, m.Name)
			})
		}
	}
	return []*Error{o.warning("spec.volumes", "dropped %s and its mounts: there is no API server for the service account to talk to", strings.Join(dropped, ", "))}
}
