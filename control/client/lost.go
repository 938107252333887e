package client

import (
	"context"
	"errors"
	"io"
)

// LostError says that the connection to a pod's lifepod has ended before what it was for: what has become of that is not known.
type LostError struct{ Before string }

// Error says what to do.
func (e *LostError) Error() string {
	return "the connection was lost before " + e.Before + ": lifepod ps says what has become of the pod"
}

// answer is what a lifepod writes for as long as it likes.
type answer struct {
	io.ReadCloser
	ctx context.Context // of who reads it
}

// Read reads it; that it breaks off is a LostError.
func (a answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if a.ctx.Err() != nil {
		return n, context.Cause(a.ctx)
	}
	return n, &LostError{Before: "its end"}
}
