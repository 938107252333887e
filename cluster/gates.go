package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/node/config"
)

// open are the feature gates that are off in Kubernetes 1.36 and that lifepod's node
// supports. RestartAllContainersOnContainerExits and what it depends on are on.
var open = map[string]bool{
	"ClusterTrustBundle":           true,
	"ClusterTrustBundleProjection": true,
}

// gates are what the cluster's parts are to have: ours, and what the user says.
func (c Config) gates() map[string]bool {
	all := maps.Clone(open)
	maps.Copy(all, c.FeatureGates)
	if !all["ClusterTrustBundle"] { // the other one is nothing without it
		if _, set := c.FeatureGates["ClusterTrustBundleProjection"]; !set {
			all["ClusterTrustBundleProjection"] = false
		}
	}
	return all
}

// setGates sets them for all parts of this process; the node has them of its
// configuration.
func (c Config) setGates(of featuregate.MutableFeatureGate) error {
	if err := of.SetFromMap(c.gates()); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	return nil
}

// checkGates says what is wrong with them, and sets none.
func (c Config) checkGates() error {
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	var known []string
	for name := range gates.GetAll() {
		known = append(known, string(name))
	}
	slices.Sort(known)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.FeatureGates)) {
		if slices.Contains(known, name) {
			continue
		}
		err := fmt.Errorf("--feature-gates: %s is no feature gate of Kubernetes 1.36", name)
		if near := plain.NearestNames(name, known, 3); len(near) > 0 {
			err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, ", "))
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return c.setGates(gates)
	}
	return errors.Join(errs...)
}

// nodeGates are those that the user has set and that concern nodes.
func (c Config) nodeGates() map[string]bool {
	gates := maps.Clone(c.FeatureGates)
	maps.DeleteFunc(gates, func(name string, _ bool) bool { return !config.KnownGate(name) })
	return gates
}
