package cluster

import (
	"fmt"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// gates are the feature gates that are off in Kubernetes 1.36 and that lifepod's
// node supports. RestartAllContainersOnContainerExits and what it depends on are on.
var gates = map[string]bool{
	"ClusterTrustBundle":           true,
	"ClusterTrustBundleProjection": true,
}

func openGates() error {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	return nil
}
