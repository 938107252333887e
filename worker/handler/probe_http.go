package handler

import (
	"context"
	"io"
	"net/http"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// httpGet sends a request (A-PROBE-9) and judges its answer (A-PROBE-10). What the
// server says is shown only for a redirect that isn't followed, never for a failure.
func (a ProbeAttempt) httpGet(ctx context.Context, get *v1.HTTPGetAction) ProbeResult {
	request, err := HTTPRequest(ctx, get, a.Container, a.PodIP, ProbeAgent)
	if err != nil {
		return errored(err)
	}
	answer, err := HTTPClient(a.timeout()).Do(request)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxBodyBytes))
	if err != nil {
		return failed(err)
	}
	switch code := answer.StatusCode; {
	case code < http.StatusOK || code >= http.StatusBadRequest:
		return failure("HTTP probe failed with statuscode: %d", code)
	case code >= http.StatusMultipleChoices:
		return ProbeResult{Outcome: lifecycle.ProbeWarning, Output: "Probe terminated redirects, Response body: " + string(body)}
	}
	return success(string(body))
}
