package config

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/roster/numa"
)

// The values of cpuManagerPolicy.
const (
	NoExclusiveCPUs = "none"
	ExclusiveCPUs   = "static"
)

// Gates of CPUs and memory of a container's own.
const (
	cpuAlphaOptions = "CPUManagerPolicyAlphaOptions"
	cpuBetaOptions  = "CPUManagerPolicyBetaOptions"
	// ResizeExclusiveCPUs and ResizeExclusiveMemory: Guaranteed pods can be resized in spite of
	// the policies static and Static.
	ResizeExclusiveCPUs   = "InPlacePodVerticalScalingExclusiveCPUs"
	ResizeExclusiveMemory = "InPlacePodVerticalScalingExclusiveMemory"
)

var errOptionsOfNone = errors.New("the policy none has no options")

// CPUOptionGates let cpuManagerPolicyOptions in (A-NUMA-4).
func CPUOptionGates(k *kubeletconfig.KubeletConfiguration) numa.CPUGates {
	return numa.CPUGates{Alpha: Enabled(k, cpuAlphaOptions), Beta: Enabled(k, cpuBetaOptions)}
}

func checkCPUOptions(k *kubeletconfig.KubeletConfiguration) error {
	if k.CPUManagerPolicy != ExclusiveCPUs {
		if len(k.CPUManagerPolicyOptions) > 0 {
			return errOptionsOfNone
		}
		return nil
	}
	_, err := numa.ParseCPUOptions(k.CPUManagerPolicyOptions, CPUOptionGates(k))
	return err
}

func validateExclusive(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		oneOf(below("cpuManagerPolicy"), c.CPUManagerPolicy, NoExclusiveCPUs, ExclusiveCPUs),
		oneOf(below("memoryManagerPolicy"), c.MemoryManagerPolicy, kubeletconfig.NoneMemoryManagerPolicy, kubeletconfig.StaticMemoryManagerPolicy),
		oneOf(below("topologyManagerPolicy"), c.TopologyManagerPolicy, numa.Policies...),
		oneOf(below("topologyManagerScope"), c.TopologyManagerScope, numa.Scopes...),
		validateReservedMemory(c),
	)
	if err := checkCPUOptions(c); err != nil {
		errs = append(errs, field.Invalid(below("cpuManagerPolicyOptions"), c.CPUManagerPolicyOptions, err.Error()))
	}
	if _, err := numa.ParseOptions(c.TopologyManagerPolicyOptions); err != nil {
		errs = append(errs, field.Invalid(below("topologyManagerPolicyOptions"), c.TopologyManagerPolicyOptions, err.Error()))
	}
	return errs
}

// validateReservedMemory refuses what can't be reserved of a NUMA node.
func validateReservedMemory(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, reserved := range c.ReservedMemory {
		for name, amount := range reserved.Limits {
			path, key := below("reservedMemory").Index(i).Child("limits").Key(string(name)), fmt.Sprint(reserved.NumaNode, name)
			switch {
			case name != v1.ResourceMemory && !strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
				errs = append(errs, field.Invalid(path, amount.String(), "should be of memory or of hugepages-SIZE"))
			case amount.Sign() <= 0:
				errs = append(errs, field.Invalid(path, amount.String(), "should be more than zero"))
			case seen[key]:
				errs = append(errs, field.Invalid(path, amount.String(), fmt.Sprintf("is said of NUMA node %d already", reserved.NumaNode)))
			}
			seen[key] = true
		}
	}
	return errs
}
