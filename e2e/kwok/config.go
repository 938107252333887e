package kwok

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stages are the files of KWOK's own stages below its module that make nodes and pods ready at once, those that its
// benchmark has ("fast"), and the status of a node beside its Lease.
var stages = []string{
	"kustomize/stage/node/fast/node-initialize.yaml",
	"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"kustomize/stage/pod/fast/pod-ready.yaml",
	"kustomize/stage/pod/fast/pod-complete.yaml",
	"kustomize/stage/pod/fast/pod-delete.yaml",
}

// configuration is KWOK's configuration: its own defaults, but for what is played at the same time. It looks after all
// nodes, as its benchmark has it do, which takes it one watch for the pods of all of them.
func configuration(module string, parallelism int) (string, error) {
	documents := []string{fmt.Sprintf(`apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  manageAllNodes: true
  nodeLeaseDurationSeconds: 40
  nodeLeaseParallelism: %[1]d
  nodePlayStageParallelism: %[1]d
  podPlayStageParallelism: %[1]d
`, parallelism)}
	for _, file := range stages {
		text, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", fmt.Errorf("a stage of KWOK: %w", err)
		}
		documents = append(documents, string(text))
	}
	return strings.Join(documents, "---\n"), nil
}
