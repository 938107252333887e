package run

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/lifepod/lifepod/manifest"
)

// digestOf is the same for two sets of manifests of the same pod: of its name and
// its spec, the ports of -p included, and of what a RuntimeClass adds. All else
// may change while a pod runs (A-VOL-5). A record keeps it instead of the
// manifests: it is short, and can't have anything in it that is secret.
func digestOf(set *manifest.Set) (string, error) {
	content := struct {
		Namespace, Name string
		Spec            v1.PodSpec
		Handlers        []string
	}{set.Pod.Namespace, givenName(set.Pod), set.Pod.Spec, handlers(set.RuntimeClasses)}
	data, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("compare manifests: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

// givenName is the pod's name, or what it was generated from.
func givenName(pod *v1.Pod) string {
	const randomLength = 5
	if base := pod.GenerateName; base != "" && strings.HasPrefix(pod.Name, base) && len(pod.Name) == len(base)+randomLength {
		return base
	}
	return pod.Name
}

func handlers(classes []*nodev1.RuntimeClass) []string {
	var list []string
	for _, c := range classes {
		list = append(list, c.Name+" "+c.Handler)
	}
	return list
}
