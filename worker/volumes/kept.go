package volumes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// unknownError is the failure of a source of which nothing is known for now, as
// the API server does not answer.
type unknownError struct{ error }

// Unwrap makes the cause available to errors.Is.
func (e unknownError) Unwrap() error { return e.error }

// sourceFailed marks a failure that says nothing of the source itself.
func sourceFailed(err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return err
	}
	return unknownError{err}
}

// kept says that a volume is left as it is: nothing is known of its sources, and
// it was complete before, made by a lifepod that ended since, or by a kubelet.
// Containers start with it, as those that run go on with it. Whoever has the
// sources tells when they are known again.
func kept(dir string, failures ...error) bool {
	if len(failures) == 0 || slices.ContainsFunc(failures, func(err error) bool { return !errors.As(err, new(unknownError)) }) {
		return false
	}
	_, missing := os.Stat(filepath.Join(dir, dataLink))
	return missing == nil
}
