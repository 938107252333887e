package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	logsapi "k8s.io/component-base/logs/api/v1"
	tracing "k8s.io/component-base/tracing/api/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/roster/pressure"
)

// Enforcements of enforceNodeAllocatable. The reserved ones may end in Compressible,
// which leaves all but CPU alone.
const (
	EnforcePods   = "pods"
	EnforceNone   = "none"
	EnforceSystem = "system-reserved"
	EnforceKube   = "kube-reserved"
	Compressible  = "-compressible"
)

func validateRegistration(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		atLeast("nodeLeaseDurationSeconds", c.NodeLeaseDurationSeconds, 1),
		atLeast("nodeStatusMaxImages", *c.NodeStatusMaxImages, -1),
		atLeast("maxPods", c.MaxPods, 0),
		atLeast("podsPerCore", c.PodsPerCore, 0),
		atLeast("eventRecordQPS", *c.EventRecordQPS, 0),
		atLeast("eventBurst", c.EventBurst, 0),
	)
	for i, taint := range c.RegisterWithTaints {
		errs = append(errs, validateTaint(taint, below("registerWithTaints").Index(i))...)
	}
	return errs
}

func validateTaint(taint v1.Taint, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("effect"), taint.Effect,
		v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)
	for _, wrong := range validation.IsQualifiedName(taint.Key) {
		errs = append(errs, field.Invalid(path.Child("key"), taint.Key, wrong))
	}
	for _, wrong := range validation.IsValidLabelValue(taint.Value) {
		errs = append(errs, field.Invalid(path.Child("value"), taint.Value, wrong))
	}
	if taint.TimeAdded != nil {
		errs = append(errs, field.Forbidden(path.Child("timeAdded"), "is set by the cluster"))
	}
	return errs
}

func validateReservations(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		reserved(below("kubeReserved"), c.KubeReserved),
		reserved(below("systemReserved"), c.SystemReserved),
	)
	if _, err := cpuset.Parse(c.ReservedSystemCPUs); err != nil {
		errs = append(errs, field.Invalid(below("reservedSystemCPUs"), c.ReservedSystemCPUs, "should be a list of CPUs such as 0-1,4"))
	}
	if c.ReservedSystemCPUs != "" && (c.SystemReservedCgroup != "" || c.KubeReservedCgroup != "") {
		errs = append(errs, field.Forbidden(below("reservedSystemCPUs"), "may not be set together with systemReservedCgroup or kubeReservedCgroup"))
	}
	return errs
}

// reserved holds a reservation against the resources that can be reserved.
func reserved(path *field.Path, amounts map[string]string) field.ErrorList {
	known := []string{string(v1.ResourceCPU), string(v1.ResourceMemory), string(v1.ResourceEphemeralStorage), "pid"}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if !slices.Contains(known, name) {
			errs = append(errs, field.NotSupported(path, name, known))
			continue
		}
		amount, err := resource.ParseQuantity(amounts[name])
		if err != nil || amount.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(name), amounts[name], "should be a quantity of zero or more, such as 500m or 1Gi"))
		}
	}
	return errs
}

func validateEnforcement(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	path := below("enforceNodeAllocatable")
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, what := range c.EnforceNodeAllocatable {
		errs = append(errs, oneOf(path.Index(i), what, EnforcePods, EnforceNone,
			EnforceSystem, EnforceSystem+Compressible, EnforceKube, EnforceKube+Compressible)...)
		if seen[what] {
			errs = append(errs, field.Duplicate(path.Index(i), what))
		}
		seen[what] = true
	}
	if seen[EnforceNone] && len(seen) > 1 {
		errs = append(errs, field.Invalid(path, c.EnforceNodeAllocatable, "none should stand alone"))
	}
	for what, cgroup := range map[string]string{EnforceSystem: c.SystemReservedCgroup, EnforceKube: c.KubeReservedCgroup} {
		compressible := what + Compressible
		if (seen[what] || seen[compressible]) && cgroup == "" {
			errs = append(errs, field.Invalid(path, c.EnforceNodeAllocatable, fmt.Sprintf("%s needs a cgroup", what)))
		}
		if seen[what] && seen[compressible] {
			errs = append(errs, field.Invalid(path, c.EnforceNodeAllocatable, fmt.Sprintf("%s and %s exclude one another", what, compressible)))
		}
	}
	return errs
}

// evictionSignals are those that a threshold may be about.
var evictionSignals = []string{
	"memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available",
	"imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "pid.available",
}

func validateEviction(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	path := below("evictionHard")
	var errs field.ErrorList
	for _, signal := range slices.Sorted(maps.Keys(c.EvictionHard)) {
		if !slices.Contains(evictionSignals, signal) {
			errs = append(errs, field.NotSupported(path, signal, evictionSignals))
			continue
		}
		if !isThreshold(c.EvictionHard[signal]) {
			errs = append(errs, field.Invalid(path.Key(signal), c.EvictionHard[signal], "should be a quantity such as 100Mi, or a percentage up to 100%"))
		}
	}
	errs = append(errs, atLeast("evictionMaxPodGracePeriod", c.EvictionMaxPodGracePeriod, 0)...)
	if len(errs) > 0 {
		return errs
	}
	_, err := pressure.ParseThresholds(c)
	if wrong := (*pressure.SettingError)(nil); errors.As(err, &wrong) {
		errs = append(errs, field.Invalid(below(wrong.Field).Key(wrong.Signal), wrong.Value, wrong.Want))
	}
	return errs
}

func isThreshold(text string) bool {
	if number, isPercentage := strings.CutSuffix(text, "%"); isPercentage {
		value, err := strconv.ParseFloat(number, 32)
		return err == nil && value >= 0 && value <= 100
	}
	amount, err := resource.ParseQuantity(text)
	return err == nil && amount.Sign() >= 0
}

func isDurationBetween(path *field.Path, is, least, most time.Duration) field.ErrorList {
	if least <= is && is <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, is.String(), fmt.Sprintf("should be from %s to %s", least, most))}
}

// JSONLog is the format of the log that programs read.
const JSONLog = "json"

// validateProcess is about lifepod itself.
func validateProcess(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		between("oomScoreAdj", *c.OOMScoreAdj, -1000, 1000),
		isDurationBetween(below("runtimeRequestTimeout"), c.RuntimeRequestTimeout.Duration, time.Second, math.MaxInt64),
		validateLogging(&c.Logging),
		tracing.ValidateTracingConfiguration(c.Tracing, nil, below("tracing")),
	)
	if endpoint := c.ImageServiceEndpoint; endpoint != "" && !strings.HasPrefix(endpoint, "unix://") {
		errs = append(errs, field.Invalid(below("imageServiceEndpoint"), endpoint, "should be unix:///path/to/socket"))
	}
	if group := c.KubeletCgroups; group != "" && strings.Trim(group, "/") == "" {
		errs = append(errs, field.Invalid(below("kubeletCgroups"), group, "should be the path of a cgroup other than the root's, such as /system.slice/kubelet.service"))
	}
	return errs
}

// validateLogging refuses what would log other lines than lifepod has, or elsewhere.
func validateLogging(l *logsapi.LoggingConfiguration) field.ErrorList {
	path := below("logging")
	errs := oneOf(path.Child("format"), l.Format, logsapi.DefaultLogFormat, JSONLog)
	if l.Verbosity > math.MaxInt32 {
		errs = append(errs, field.Invalid(path.Child("verbosity"), l.Verbosity, "should be at most 2147483647"))
	}
	if len(l.VModule) > 0 {
		errs = append(errs, field.Forbidden(path.Child("vmodule"), "not supported: lifepod logs by level, not by source file"))
	}
	if l.Options.Text.SplitStream || l.Options.JSON.SplitStream {
		errs = append(errs, field.Forbidden(path.Child("options"), "not supported: lifepod's log is one stream, standard error: splitStream should be false"))
	}
	return errs
}
