package numa

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Names of the options (A-NUMA-11).
const (
	preferClosest = "prefer-closest-numa-nodes"
	maxNodes      = "max-allowable-numa-nodes"
)

// leastMaxNodes is how many NUMA nodes a machine may have at least: the number of
// combinations to try doubles with each.
const leastMaxNodes = 8

// Options refine the policies.
type Options struct {
	// PreferClosest: of equally many nodes those are better that are nearer to each other.
	PreferClosest bool
	// MaxNodes is how many NUMA nodes a machine may have.
	MaxNodes int
}

// ParseOptions reads topologyManagerPolicyOptions.
func ParseOptions(options map[string]string) (Options, error) {
	o := Options{MaxNodes: leastMaxNodes}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		value := options[name]
		switch name {
		case preferClosest:
			on, err := strconv.ParseBool(value)
			if err != nil {
				return o, fmt.Errorf("bad value for option %q: %q should be true or false", name, value)
			}
			o.PreferClosest = on
		case maxNodes:
			n, err := strconv.Atoi(value)
			if err != nil {
				return o, fmt.Errorf("unable to convert policy option to integer %q: %q should be a number", name, value)
			}
			if n < leastMaxNodes {
				return o, fmt.Errorf("the minimum value of %q should not be less than %d", name, leastMaxNodes)
			}
			o.MaxNodes = n
		default:
			return o, fmt.Errorf("unknown Topology Manager Policy option: %q; there are %s and %s", name, preferClosest, maxNodes)
		}
	}
	return o, nil
}
