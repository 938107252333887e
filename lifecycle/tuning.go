package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// AnnotationPrefix begins the annotations of a Pod that tune its restarts. Each applies
// to all containers, or with ".NAME" appended to the one of that name. Without them
// everything is as in Kubernetes.
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
	restartAll *BackoffPolicy // nil: only the pace that protects the node
}

// tuning is what they ask for one container.
type tuning struct {
	backOff      *BackoffPolicy // nil: the node's
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
		if err == nil && container != "" && indexOf(pod, container) < 0 {
			err = fmt.Errorf("the pod has no container %q", container)
		}
		if err != nil {
			errs = append(errs, AnnotationError{Key: key, Err: err})
		}
	}
	return errs
}

func checkAnnotation(kind, value string) error {
	switch kind {
	case backOffKey, restartAllKey:
		_, err := ParseBackoff(value)
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
