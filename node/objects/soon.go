package objects

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// soon calls again what is refused to a node that has no such pod, for a moment:
// the API server's authorizer and admission may hear of a new pod a little later
// than the node does.
func soon[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	const firstPause = 5 * time.Millisecond
	late := time.NewTimer(firstAnswerWithin)
	defer late.Stop()
	for pause := firstPause; ; pause *= 2 {
		answer, err := call(ctx)
		if !apierrors.IsForbidden(err) && !isPodNotFound(err) {
			return answer, err
		}
		select {
		case <-time.After(pause):
		case <-late.C:
			return answer, err
		case <-ctx.Done():
			return answer, err
		}
	}
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
