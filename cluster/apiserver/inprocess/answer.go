package inprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// most is how much of a response that the handler has flushed waits for its reader, in bytes. A
// handler that writes more waits, too.
const most = 1 << 20

// What ends a response early.
var (
	errClosed = errors.New("the client has closed the response")
	errEnded  = errors.New("the handler has ended")
)

// answer is a response: what the handler writes, and the body that the client reads.
type answer struct {
	cancel context.CancelCauseFunc // of the handler's request
	begun  chan struct{}           // closed when the head is there, or why it will not be
	header http.Header             // the handler's

	mu      sync.Mutex
	changed sync.Cond // of what follows
	status  int       // 0: the handler has said nothing yet
	head    http.Header
	body    bytes.Buffer
	flushed bool
	ended   bool  // the handler has, or nobody reads any more
	err     error // nil: the response is whole
}

func newAnswer(cancel context.CancelCauseFunc) *answer {
	a := &answer{cancel: cancel, begun: make(chan struct{}), header: http.Header{}}
	a.changed.L = &a.mu
	return a
}

// serve has the handler answer. One that panics has not answered, as on a connection.
func (a *answer) serve(handler http.Handler, r *http.Request) {
	defer r.Body.Close()
	defer func() {
		var err error
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the API server has broken a request off: %v", reason)
		}
		a.end(err)
	}()
	handler.ServeHTTP(a, r)
}

// response is what the client gets once the head is there.
func (a *answer) response(request *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		a.cancel(errClosed)
		return nil, a.err
	}
	length := int64(-1)
	if a.ended {
		length = int64(a.body.Len())
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: a.head, Body: reader{a}, ContentLength: length, Request: request,
	}, nil
}

// Header, WriteHeader, Write, Flush and CloseNotify are the handler's.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the head as it is now.
func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(status)
}

func (a *answer) begin(status int) {
	if a.status == 0 && status >= http.StatusOK { // others only announce one
		a.status, a.head = status, a.header.Clone()
	}
}

// Write returns when p is kept. What was not flushed is kept whole: the client sees it in the end.
func (a *answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(http.StatusOK)
	for a.flushed && !a.ended && a.body.Len() > most {
		a.changed.Wait()
	}
	if a.ended {
		return 0, a.err
	}
	n, err := a.body.Write(p)
	if a.flushed {
		a.changed.Broadcast()
	}
	return n, err
}

// Flush lets the client read what was written.
func (a *answer) Flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(http.StatusOK)
	if !a.flushed && !a.ended {
		a.flushed = true
		close(a.begun)
	}
	a.changed.Broadcast()
}

// CloseNotify is for Kubernetes' handlers, which hold it for the sign of a response that can be
// flushed. What they heed is the request's context.
func (a *answer) CloseNotify() <-chan bool { return make(chan bool, 1) }

func (a *answer) end(err error) {
	a.mu.Lock()
	if a.status == 0 && err == nil {
		a.begin(http.StatusOK)
	}
	a.finish(err)
	a.mu.Unlock()
	a.cancel(errEnded)
}

func (a *answer) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finish(err)
}

// finish is the end of the response; the first counts.
func (a *answer) finish(err error) {
	if a.ended {
		return
	}
	a.ended, a.err = true, err
	if !a.flushed {
		close(a.begun)
	}
	a.changed.Broadcast()
}

// reader is the body for the client.
type reader struct{ *answer }

// Read waits for what the handler writes.
func (r reader) Read(p []byte) (int, error) {
	a := r.answer
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.body.Len() == 0 && !a.ended {
		a.changed.Wait()
	}
	if a.body.Len() == 0 || errors.Is(a.err, errClosed) {
		if a.err != nil {
			return 0, a.err
		}
		return 0, io.EOF
	}
	n, err := a.body.Read(p)
	a.changed.Broadcast() // the handler may write on
	return n, err
}

// Close ends the handler's request.
func (r reader) Close() error {
	r.fail(errClosed)
	r.cancel(errClosed)
	return nil
}
