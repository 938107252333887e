package images

// DefaultNodeConfigs is where a machine keeps registry credentials of its own,
// as [Options.NodeConfigs] takes them: those of root, who runs lifepod.
func DefaultNodeConfigs() []string {
	return []string{"/root/.docker/config.json"}
}
