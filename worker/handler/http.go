package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// httpTimeout bounds a request that nothing else bounds: Kubernetes waits for
// ever for a server that hangs (A-HOOK-3).
const httpTimeout = 10 * time.Minute

// httpGet sends a request; any answer is a success (A-HOOK-3, B-HOOK-5).
func (r HookRun) httpGet(ctx context.Context, get *v1.HTTPGetAction) ([]lifecycle.Warning, error) {
	warnings, err := r.request(ctx, get)
	if err != nil {
		return nil, r.failed("HTTP", err, fmt.Sprintf("(%s)", get.Path), "")
	}
	return warnings, nil
}

func (r HookRun) request(ctx context.Context, get *v1.HTTPGetAction) ([]lifecycle.Warning, error) {
	if get.Host == "" && r.PodIP == "" {
		return nil, errors.New("failed to find networking container: the pod has no address")
	}
	request, err := HTTPRequest(ctx, get, r.Container, r.PodIP, HookAgent)
	if err != nil {
		return nil, err
	}
	err = r.send(request)
	if !answeredPlainly(err) {
		return nil, err
	}
	plain := request.Clone(ctx)
	plain.URL.Scheme = "http"
	plain.Header.Del("Authorization") // it was meant for an encrypted connection (A-HOOK-4)
	if r.send(plain) != nil {
		return nil, err
	}
	return []lifecycle.Warning{{
		Reason:  "LifecycleHTTPFallback",
		Message: fmt.Sprintf("request to HTTPS lifecycle hook %s got HTTP response, retry with HTTP succeeded", plain.URL.Host),
	}}, nil
}

func (r HookRun) send(request *http.Request) error {
	answer, err := HTTPClient(httpTimeout).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()             // only read
	_, _ = io.CopyN(io.Discard, answer.Body, MaxBodyBytes) // so that the server can end in peace
	if answer.StatusCode >= http.StatusBadRequest {
		r.Log.Warn("lifecycle hook: the server answered with an error", "container", r.Container.Name, "url", request.URL.Redacted(), "status", answer.StatusCode)
	}
	return nil
}

// answeredPlainly says that a server answered an HTTPS request in plain HTTP.
func answeredPlainly(err error) bool {
	refused, ok := errors.AsType[*url.Error](err)
	return ok && strings.Contains(refused.Err.Error(), "server gave HTTP response to HTTPS client")
}
