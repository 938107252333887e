package pressure

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// Threshold says when a signal is short, and what follows.
type Threshold struct {
	Signal Signal
	Value  Value
	// Grace is how long it has to be met before it acts; zero: a hard one.
	Grace time.Duration
	// MinimumReclaim is how much more than the threshold has to be available until it is
	// met no longer; nil: nothing.
	MinimumReclaim *Value
}

// Value is a quantity, or a part of the capacity.
type Value struct {
	Quantity *resource.Quantity
	Part     float32 // of 1, if there is no quantity
}

// of is the value for a capacity, in the format of Kubernetes.
func (v Value) of(capacity int64) *resource.Quantity {
	if v.Quantity != nil {
		quantity := v.Quantity.DeepCopy()
		return &quantity
	}
	return resource.NewQuantity(int64(float64(capacity)*float64(v.Part)), resource.BinarySI)
}

// Hard thresholds act at once.
func (t *Threshold) hard() bool { return t.Grace == 0 }

// kind is the threshold's kind in words.
func (t *Threshold) kind() string {
	if t.hard() {
		return "hard"
	}
	return "soft"
}

// met says whether less is available than the threshold, or, until enough was reclaimed,
// than the threshold and its minimum reclaim (B-EVI-4).
func (t *Threshold) met(o Observation, untilReclaimed bool) bool {
	least := t.Value.of(o.Capacity)
	if untilReclaimed && t.MinimumReclaim != nil {
		least.Add(*t.MinimumReclaim.of(o.Capacity))
	}
	return least.CmpInt64(o.Available) > 0
}

// Left is how much more is available than the threshold; zero or less if it is met.
func (t *Threshold) Left(o Observation) int64 {
	least := t.Value.of(o.Capacity)
	return o.Available - least.Value()
}

// SettingError says what is wrong with a setting, and what would be right.
type SettingError struct{ Field, Signal, Value, Want string }

func (e *SettingError) Error() string {
	return fmt.Sprintf("%s[%s]: %q: %s", e.Field, e.Signal, e.Value, e.Want)
}

// ParseThresholds reads the configuration: hard thresholds first, each kind by signal in
// the order in which they act. An error is a SettingError. If all pods together have a limit
// of memory, the hard threshold of memory holds for it, too.
func ParseThresholds(k *kubeletconfig.KubeletConfiguration) ([]Threshold, error) {
	hard, err := values("evictionHard", k.EvictionHard)
	if err != nil {
		return nil, err
	}
	soft, err := values("evictionSoft", k.EvictionSoft)
	if err != nil {
		return nil, err
	}
	graces, err := graces(k.EvictionSoftGracePeriod)
	if err != nil {
		return nil, err
	}
	reclaims, err := reclaims(k.EvictionMinimumReclaim)
	if err != nil {
		return nil, err
	}
	var list []Threshold
	add := func(signal Signal, value Value, grace time.Duration) {
		t := Threshold{Signal: signal, Value: value, Grace: grace}
		if reclaim, set := reclaims[signal]; set {
			t.MinimumReclaim = &reclaim
		}
		list = append(list, t)
	}
	for _, signal := range signals {
		if value, set := hard[signal]; set {
			add(signal, value, 0)
		}
		if memory, set := hard[Memory]; set && signal == AllocatableMemory && slices.Contains(k.EnforceNodeAllocatable, "pods") {
			add(Memory, memory, 0)
			list[len(list)-1].Signal = AllocatableMemory
		}
	}
	for _, signal := range signals {
		value, set := soft[signal]
		if !set {
			continue
		}
		grace, set := graces[signal]
		if !set {
			return nil, &SettingError{"evictionSoft", string(signal), k.EvictionSoft[string(signal)], "needs a grace period in evictionSoftGracePeriod"}
		}
		add(signal, value, grace)
	}
	return list, nil
}

func values(field string, in map[string]string) (map[Signal]Value, error) {
	const want = "should be a quantity above zero such as 100Mi, or a percentage up to 100%"
	out, err := bySignal(field, in, want, func(text string) (Value, bool) {
		value, err := parseValue(text)
		return value, err == nil && value.Part >= 0 && value.Part <= 1 && (value.Quantity == nil || value.Quantity.Sign() > 0)
	})
	maps.DeleteFunc(out, func(signal Signal, _ Value) bool { // no threshold
		text := in[string(signal)]
		return text == "0%" || text == "100%"
	})
	return out, err
}

func graces(in map[string]string) (map[Signal]time.Duration, error) {
	return bySignal("evictionSoftGracePeriod", in, "should be a duration such as 90s", func(text string) (time.Duration, bool) {
		grace, err := time.ParseDuration(text)
		return grace, err == nil && grace >= 0
	})
}

func reclaims(in map[string]string) (map[Signal]Value, error) {
	const want = "should be a quantity such as 500Mi, or a percentage above 0%"
	return bySignal("evictionMinimumReclaim", in, want, func(text string) (Value, bool) {
		value, err := parseValue(text)
		return value, err == nil && (value.Quantity == nil && value.Part > 0 || value.Quantity != nil && value.Quantity.Sign() >= 0)
	})
}

// bySignal reads a setting that has a value for each of some signals.
func bySignal[T any](field string, in map[string]string, want string, read func(text string) (value T, isRight bool)) (map[Signal]T, error) {
	out := map[Signal]T{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(signals, Signal(name)) {
			return nil, &SettingError{field, name, "", fmt.Sprintf("should be about one of the signals %v", signals)}
		}
		value, isRight := read(in[name])
		if !isRight {
			return nil, &SettingError{field, name, in[name], want}
		}
		out[Signal(name)] = value
	}
	return out, nil
}

// parseValue keeps percentages as 32-bit floats, as the kubelet does: the same
// configuration has to give the same threshold to the byte.
func parseValue(text string) (Value, error) {
	if number, isPercentage := strings.CutSuffix(text, "%"); isPercentage {
		percent, err := strconv.ParseFloat(number, 32)
		return Value{Part: float32(percent) / 100}, err
	}
	quantity, err := resource.ParseQuantity(text)
	return Value{Quantity: &quantity}, err
}

// onDisks derives the thresholds of containerfs from those of the file system that it is
// on; values of the user are ignored (B-EVI-1).
func onDisks(list []Threshold, disks Disks) []Threshold {
	from := map[Signal]Signal{NodeFs: ContainerFs, NodeFsInodes: ContainerFsInodes}
	if disks.Images && !disks.Containers {
		from = map[Signal]Signal{ImageFs: ContainerFs, ImageFsInodes: ContainerFsInodes}
	}
	var out, derived []Threshold
	for _, t := range list {
		if t.Signal == ContainerFs || t.Signal == ContainerFsInodes {
			continue
		}
		out = append(out, t)
		if signal, has := from[t.Signal]; has {
			t.Signal = signal
			derived = append(derived, t)
		}
	}
	return append(out, derived...)
}
