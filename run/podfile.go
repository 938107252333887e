package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podPath is the file with the pod as it was accepted: other commands show it, and end
// it, without its manifests.
func podPath(records string, uid types.UID) string {
	return filepath.Join(records, string(uid)+".pod")
}

// savePod writes the pod's file, which only root reads: variables may be secret.
func savePod(records string, pod *v1.Pod) error {
	data, err := json.Marshal(pod)
	if err != nil {
		return fmt.Errorf("write the pod: %w", err)
	}
	path := podPath(records, pod.UID)
	next := filepath.Join(records, newPrefix+string(pod.UID)+".pod")
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path) // without a sync, so not by wholefile: what a power cut loses is known to be lost
}

// loadPod reads the pod's file.
func loadPod(records string, uid types.UID) (*v1.Pod, error) {
	data, err := os.ReadFile(podPath(records, uid))
	if err != nil {
		return nil, err
	}
	pod := &v1.Pod{}
	if err := json.Unmarshal(data, pod); err != nil {
		return nil, fmt.Errorf("read %s: %w", podPath(records, uid), err)
	}
	if pod.UID != uid {
		return nil, fmt.Errorf("read %s: it is of another pod", podPath(records, uid))
	}
	return pod, nil
}
