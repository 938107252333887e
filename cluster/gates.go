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

// gates are what the user says, and what follows of it.
func (c Config) gates() map[string]bool {
	const bundle, projection = "ClusterTrustBundle", "ClusterTrustBundleProjection"
	if on, set := c.FeatureGates[bundle]; on || !set {
		return c.FeatureGates
	}
	all := map[string]bool{projection: false} // which is nothing without the other one
	maps.Copy(all, c.FeatureGates)
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
		err := fmt.Errorf("--feature-gates: %s is no feature gate of Kubernetes 1.37", name)
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
