package objects

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// soon calls again what is refused to a node that has no such pod, for a moment:
// the API server's authorizer and admission may hear of a new pod a little later
// than the node does.
func soon[T any](ctx context.Context, call func(context.Context) (T, error)) (answer T, err error) {
	pauses := wait.Backoff{Duration: 8 * time.Millisecond, Factor: 2, Steps: 8} // about a second
	ended := wait.ExponentialBackoffWithContext(ctx, pauses, func(ctx context.Context) (bool, error) {
		answer, err = call(ctx)
		return !apierrors.IsForbidden(err) && !isPodNotFound(err), nil
	})
	return answer, cmp.Or(err, ended)
}

// isPodNotFound says that it is the pod that the API server does not know: a
// token's service account may be missing, too.
func isPodNotFound(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return strings.HasPrefix(status.Status().Details.Kind, "pod")
}
