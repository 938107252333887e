package images

import "path/filepath"

// DefaultNodeConfigs is where a machine keeps registry credentials of its own,
// as [Options.NodeConfigs] takes them: those of root, who runs lifepod.
func DefaultNodeConfigs() []string {
	return []string{"/root/.docker/config.json"}
}

// AgentNodeConfigs is where the agent of a cluster's node looks, as the kubelet
// does: below its root folder, then as root, then at the top (A-IMG-7).
func AgentNodeConfigs(root string) []string {
	return append(append([]string{filepath.Join(root, "config.json")}, DefaultNodeConfigs()...), "/.docker/config.json")
}
