package lifecycle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// AnnotationPrefix begins the annotations of a Pod that tune its restarts. Each
// counts for all containers, or with ".NAME" appended for the one of that name.
// Without them everything is as in Kubernetes.
const AnnotationPrefix = "restart.lifepod.dev/"

// The annotations:
//
//	restart.lifepod.dev/back-off: initial=1s factor=1.5 max=30s   its own curve
//	restart.lifepod.dev/back-off: constant=5s                     always the same delay
//	restart.lifepod.dev/back-off: none                            restart at once
//	restart.lifepod.dev/back-off-after-success: none              no delay after exit code 0
//	restart.lifepod.dev/max-restarts: 5 in 10m                    the next one fails the pod
//	restart.lifepod.dev/restart-all-back-off: initial=10s factor=2 max=5m
const (
	backOffKey      = "back-off"
	afterSuccessKey = "back-off-after-success"
	maxRestartsKey  = "max-restarts"
	restartAllKey   = "restart-all-back-off"
)

// podTuning is what a pod's annotations ask for.
type podTuning struct {
	restartAll *BackOffPolicy // nil: only the pace that protects the node
}

// tuning is what they ask for of one container.
type tuning struct {
	backOff      *BackOffPolicy // nil: the node's
	afterSuccess bool           // no back-off after success
	maxRestarts  int            // -1: no limit
	window       time.Duration  // of maxRestarts; 0: the pod's whole life
}

// AnnotationError is what is wrong with one annotation of a pod.
type AnnotationError struct {
	Key string
	Err error
}

// CheckAnnotations says what is wrong with a pod's restart annotations.
func CheckAnnotations(pod *v1.Pod) []AnnotationError {
	var errs []AnnotationError
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		name, ours := strings.CutPrefix(key, AnnotationPrefix)
		if !ours {
			continue
		}
		kind, container, _ := strings.Cut(name, ".")
		err := checkAnnotation(kind, pod.Annotations[key])
		if err == nil && container != "" && kind == restartAllKey {
			err = fmt.Errorf("it counts for the whole pod: write %s%s", AnnotationPrefix, restartAllKey)
		}
		if err == nil && container != "" && !hasContainer(pod, container) {
			err = fmt.Errorf("the pod has no container %q", container)
		}
		if err != nil {
			errs = append(errs, AnnotationError{Key: key, Err: err})
		}
	}
	return errs
}

func hasContainer(pod *v1.Pod, name string) bool {
	named := func(c v1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Spec.Containers, named) || slices.ContainsFunc(pod.Spec.InitContainers, named)
}

func checkAnnotation(kind, value string) error {
	switch kind {
	case backOffKey, restartAllKey:
		_, err := parseBackOff(value)
		return err
	case afterSuccessKey:
		if value != "none" && value != "as-after-failure" {
			return fmt.Errorf("%q is neither none nor as-after-failure", value)
		}
		return nil
	case maxRestartsKey:
		_, _, err := parseMaxRestarts(value)
		return err
	}
	return fmt.Errorf("unknown; there are %s, %s, %s and %s", backOffKey, afterSuccessKey, maxRestartsKey, restartAllKey)
}

// parseBackOff reads "none", "constant=5s" or "initial=1s factor=1.5 max=30s reset=10m".
func parseBackOff(text string) (BackOffPolicy, error) {
	p := BackOffPolicy{Initial: 10 * time.Second, Max: 300 * time.Second, Reset: 600 * time.Second}
	if text == "none" {
		return BackOffPolicy{Reset: p.Reset}, nil
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return p, errors.New("empty; write for example: initial=1s factor=2 max=30s, constant=5s, or none")
	}
	for _, field := range fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return p, fmt.Errorf("%q is not NAME=VALUE, such as initial=1s", field)
		}
		if err := p.set(name, value, len(fields)); err != nil {
			return p, err
		}
	}
	if p.Initial > p.Max {
		return p, fmt.Errorf("initial %v is longer than max %v", p.Initial, p.Max)
	}
	return p, nil
}

func (p *BackOffPolicy) set(name, value string, fields int) error {
	if name == "factor" {
		factor, err := parseFactor(value)
		p.FactorThousandths = factor
		return err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return fmt.Errorf("%s=%s: not a duration between 0 and 24h, such as 1s or 5m", name, value)
	}
	switch name {
	case "initial":
		p.Initial = d
	case "max":
		p.Max = d
	case "reset":
		p.Reset = d
	case "constant":
		if fields > 1 {
			return errors.New("constant stands alone")
		}
		p.Initial, p.Max = d, d
	default:
		return fmt.Errorf("%q is none of initial, factor, max, reset and constant", name)
	}
	return nil
}

// parseFactor reads a number from 1 to 100 with up to three decimals.
func parseFactor(text string) (int64, error) {
	whole, decimals, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole+(decimals + "000")[:3], 10, 32)
	if err != nil || len(decimals) > 3 || n < 1000 || n > 100_000 {
		return 0, fmt.Errorf("factor=%s: not a number from 1 to 100 with at most three decimals", text)
	}
	return int64(n), nil
}

// parseMaxRestarts reads "5" or "5 in 10m".
func parseMaxRestarts(text string) (int, time.Duration, error) {
	count, window, limited := strings.Cut(text, " in ")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil || n < 0 || n > 10_000 {
		return 0, 0, fmt.Errorf("%q: not a number of restarts such as 5, or 5 in 10m", text)
	}
	if !limited {
		return n, 0, nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(window))
	if err != nil || d <= 0 {
		return 0, 0, fmt.Errorf("%q: %q is not a duration such as 10m", text, window)
	}
	return n, d, nil
}
