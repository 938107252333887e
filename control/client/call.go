package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxAnswer is the largest answer that is read.
const maxAnswer = 16 << 20

// path is the pod's path, with what is below it.
func (p *Pod) path(below string) string {
	return "/v1/namespaces/" + url.PathEscape(p.Namespace) + "/pods/" + url.PathEscape(p.Name) + below
}

// call sends a request, with a JSON body unless it is nil, and reads the answer.
func (p *Pod) call(ctx context.Context, method, path string, body, into any) error {
	response, err := p.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read the answer of the pod's lifepod: %w", err)
	}
	return nil
}

// send sends a request and returns an answer that is no error; close its body.
func (p *Pod) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://lifepod"+path, text)
	if err != nil {
		return nil, err
	}
	response, err := p.http.Do(request)
	if err != nil {
		return nil, withoutURL(ctx, err)
	}
	if response.StatusCode < http.StatusBadRequest {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // only read
	return nil, refusal(response)
}

// goneError is that the pod's lifepod has ended, also while it was asked.
type goneError struct{}

// Error says what to do.
func (goneError) Error() string { return "the pod's lifepod has ended: lifepod ps says what to do" }

// Is fs.ErrNotExist: its socket is no more.
func (goneError) Is(target error) bool { return target == fs.ErrNotExist }

// withoutURL is an error without the URL that means nothing to the user.
func withoutURL(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, fs.ErrNotExist, unix.ECONNRESET, unix.EPIPE, unix.ECONNREFUSED} {
		if errors.Is(err, gone) {
			return goneError{}
		}
	}
	return fmt.Errorf("ask the pod's lifepod: %w", err)
}

// refusal is the server's own message.
func refusal(response *http.Response) error {
	var status metav1.Status
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && json.Unmarshal(text, &status) == nil && status.Message != "" {
		return errors.New(status.Message)
	}
	return fmt.Errorf("the pod's lifepod answered %s", response.Status)
}
