package numa

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// CPUOptions refine how CPUs are chosen (A-NUMA-4).
type CPUOptions struct {
	// WholeCores gives only whole cores, and refuses who asks for a part of one.
	WholeCores bool
	// AcrossNodes takes equally many CPUs from each NUMA node if one is not enough.
	AcrossNodes bool
	// AlignBySocket takes CPUs from anywhere on the socket of a NUMA node.
	AlignBySocket bool
	// AcrossCores takes CPUs of different cores.
	AcrossCores bool
	// Strict keeps the reserved CPUs from the pods that share CPUs, too.
	Strict bool
	// ByUncoreCache takes CPUs from as few uncore caches as possible.
	ByUncoreCache bool
}

// Names of the options.
const (
	fullPCPUsOnly  = "full-pcpus-only"
	acrossNUMA     = "distribute-cpus-across-numa"
	alignBySocket  = "align-by-socket"
	acrossCores    = "distribute-cpus-across-cores"
	strictReserved = "strict-cpu-reservation"
	byUncoreCache  = "prefer-align-cpus-by-uncorecache"
	stable, beta   = "", "Beta"
	alpha          = "Alpha"
)

// maturity has the level of each option, which a feature gate lets in.
var maturity = map[string]string{
	fullPCPUsOnly: stable, strictReserved: stable, byUncoreCache: stable,
	acrossNUMA: beta, alignBySocket: alpha, acrossCores: alpha,
}

// CPUGates are the feature gates CPUManagerPolicyAlphaOptions and CPUManagerPolicyBetaOptions.
type CPUGates struct{ Alpha, Beta bool }

// ParseCPUOptions reads cpuManagerPolicyOptions of the policy static.
func ParseCPUOptions(options map[string]string, gates CPUGates) (CPUOptions, error) {
	var o CPUOptions
	fields := map[string]*bool{
		fullPCPUsOnly: &o.WholeCores, acrossNUMA: &o.AcrossNodes, alignBySocket: &o.AlignBySocket,
		acrossCores: &o.AcrossCores, strictReserved: &o.Strict, byUncoreCache: &o.ByUncoreCache,
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		level, known := maturity[name]
		switch {
		case !known:
			return o, fmt.Errorf("unknown CPU Manager Policy option: %q; there are %q", name, slices.Sorted(maps.Keys(maturity)))
		case level == alpha && !gates.Alpha, level == beta && !gates.Beta:
			return o, fmt.Errorf("CPU Manager Policy %s-level Options not enabled, but option %q provided: it requires feature gate CPUManagerPolicy%sOptions", level, name, level)
		}
		on, err := strconv.ParseBool(options[name])
		if err != nil {
			return o, fmt.Errorf("bad value for option %q: %q should be true or false", name, options[name])
		}
		*fields[name] = on
	}
	return o, o.contradiction()
}

// contradiction says which options can't be used together.
func (o CPUOptions) contradiction() error {
	for _, pair := range []struct {
		both         bool
		first, other string
	}{
		{o.WholeCores && o.AcrossCores, fullPCPUsOnly, acrossCores},
		{o.AcrossNodes && o.AcrossCores, acrossNUMA, acrossCores},
		{o.ByUncoreCache && o.AcrossCores, byUncoreCache, acrossCores},
		{o.ByUncoreCache && o.AcrossNodes, byUncoreCache, acrossNUMA},
	} {
		if pair.both {
			return fmt.Errorf("static policy options %s and %s can not be used at the same time", pair.first, pair.other)
		}
	}
	return nil
}

var errSocketsAboveNodes = errors.New("option align-by-socket: not compatible with a machine that has more sockets than NUMA nodes")

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
