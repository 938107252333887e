package images

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reasons of a failed pull as a container's waiting state shows them (A-IMG-4).
const (
	ReasonErrImagePull              = "ErrImagePull"
	ReasonRegistryUnavailable       = "RegistryUnavailable"
	ReasonSignatureValidationFailed = "SignatureValidationFailed"
)

// ErrNotFound is what Remove reports about an image that isn't there.
var ErrNotFound = errors.New("image not found")

// PullError is a pull that was carried out and failed (A-IMG-4). A pull that
// was cancelled gives the context's error instead.
type PullError struct {
	// Image as asked for.
	Image string
	// Reason and Message of the container's waiting state.
	Reason  string
	Message string
	// Err is the runtime's own error, the text of the event "Failed".
	Err error
}

// Error is the text of the runtime's error.
func (e *PullError) Error() string { return e.Err.Error() }

// Unwrap gives the runtime's error.
func (e *PullError) Unwrap() error { return e.Err }

// newPullError classifies by the prefixes that CRI defines.
func newPullError(image string, err error) *PullError {
	pullErr := &PullError{Image: image, Reason: ReasonErrImagePull, Message: err.Error(), Err: err}
	phrases := []struct{ reason, phrase string }{
		{ReasonRegistryUnavailable, " because the registry is unavailable"},
		{ReasonSignatureValidationFailed, " because the signature validation failed"},
	}
	for _, p := range phrases {
		if detail, found := strings.CutPrefix(err.Error(), p.reason); found {
			pullErr.Reason = p.reason
			pullErr.Message = "image pull failed for " + image + p.phrase + detail
		}
	}
	return pullErr
}

// runtimeError takes the wrapping off an error of code Unknown, which says
// nothing but "rpc error: code = Unknown desc = " and hides CRI's prefixes.
func runtimeError(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unknown {
		return errors.New(s.Message())
	}
	return err
}
