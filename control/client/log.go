package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LogOptions say what of a container's log is wanted.
type LogOptions struct {
	Container  string
	Previous   bool // of the instance before
	Follow     bool // and what comes, of the instances that come, too
	Timestamps bool
	Tail       int64     // lines from the end; below 0: all
	Since      time.Time // zero: all
}

// Log opens a container's log; close it. With Follow it ends when the container
// runs no more, or with ctx.
func (p *Pod) Log(ctx context.Context, o LogOptions) (io.ReadCloser, error) {
	q := url.Values{"container": {o.Container}}
	for name, set := range map[string]bool{"previous": o.Previous, "follow": o.Follow, "timestamps": o.Timestamps} {
		if set {
			q.Set(name, "true")
		}
	}
	if o.Tail >= 0 {
		q.Set("tailLines", strconv.FormatInt(o.Tail, 10))
	}
	if !o.Since.IsZero() {
		q.Set("sinceTime", o.Since.UTC().Format(time.RFC3339Nano))
	}
	response, err := p.send(ctx, http.MethodGet, p.path("/log?"+q.Encode()), nil) //nolint:bodyclose // by who has the answer
	if err != nil {
		return nil, err
	}
	return answer{response.Body, ctx}, nil
}

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
