package source

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// answer is what a web server says next.
type answer struct {
	status int
	body   string
	etag   string
	err    error
}

// website gives the answer that the test has set.
type website struct{ atomic.Pointer[answer] }

func (w *website) RoundTrip(r *http.Request) (*http.Response, error) {
	a := w.Load()
	if a.err != nil {
		return nil, a.err
	}
	status, body := a.status, a.body
	if r.Header.Get("X-Key") != "k" {
		status, body = http.StatusUnauthorized, ""
	} else if a.etag != "" && r.Header.Get("If-None-Match") == a.etag {
		status, body = http.StatusNotModified, ""
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Etag": {a.etag}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestHTTP: pods of a URL, and what a failure does to them: nothing (B-STA-1, B-STA-2).
func TestHTTP(t *testing.T) {
	one := manifestOf("a", "i", "")
	list := "{\"apiVersion\": \"v1\", \"kind\": \"PodList\", \"items\": [" +
		`{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},` +
		`{"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}]}`
	for _, tc := range []struct {
		name  string
		steps []answer
		want  [][]string
	}{
		{"pod, list, none", []answer{{status: 200, body: one}, {status: 200, body: one}, {status: 200, body: list}, {status: 200}}, [][]string{
			{"wanted http a-n", "heard http"}, nil, {"wanted http b-n"}, {"unwanted http a-n", "unwanted http b-n"},
		}},
		{"failures", []answer{{err: errors.New("refused")}, {status: 200, body: list}, {status: 500, body: one}, {err: errors.New("refused")}, {status: 200, body: one[:50]}, {status: 200, body: one}}, [][]string{
			nil, {"wanted http a-n", "wanted http b-n", "heard http"}, nil, nil, nil, {"unwanted http b-n"},
		}},
		{"one name twice", []answer{{status: 200, body: one + "---\n" + one}, {status: 200, body: one + "---\n" + one}, {status: 200, body: one}}, [][]string{
			{`event a-n FailedValidation Error validating pod a-n_default(UID) from http due to duplicate pod name "a-n", ignoring`, "wanted http a-n", "heard http"}, nil, nil, // A-EVT-6
		}},
		{"ETag", []answer{{status: 200, body: one, etag: "1"}, {status: 500, etag: "1"}, {status: 200, body: list, etag: "2"}}, [][]string{
			{"wanted http a-n", "heard http"}, nil, {"wanted http b-n"},
		}},
		{"ConfigMap beside it", []answer{{status: 200, body: one + "---\n" + configMapOf("c", "1")}}, [][]string{nil}},
		{"nothing at first", []answer{{status: 200}}, [][]string{{"heard http"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed, log, now := newRecorder(), &textLog{}, &website{}
				now.Store(&tc.steps[0])
				source := &HTTP{URL: "http://x/pods", Header: http.Header{"X-Key": {"k"}}, NodeName: "n", Feed: feed, Client: &http.Client{Transport: now}, Record: feed.event, Log: log.logger()}
				assert.Runs(t, source.Run)
				for i := range tc.steps {
					synctest.Wait()
					now.Store(&tc.steps[i])
					if i > 0 {
						time.Sleep(DefaultPeriod)
						synctest.Wait()
					}
					diff := cmp.Diff(tc.want[i], feed.take())
					assert.True(t, diff == "", "answer %d (-want +got):\n%s\nlog: %s", i+1, diff, log)
				}
			})
		})
	}
}

// TestHTTPLog: an outage of a day is no flood of lines.
func TestHTTPLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, log := &website{}, &textLog{}
		now.Store(&answer{err: errors.New("refused")})
		source := &HTTP{URL: "http://x/pods", Header: http.Header{"X-Key": {"k"}}, Feed: newRecorder(), Client: &http.Client{Transport: now}, Log: log.logger()}
		stop := assert.Runs(t, source.Run)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		now.Store(&answer{status: 200})
		time.Sleep(DefaultPeriod)
		synctest.Wait()
		stop()
		lines := strings.Count(log.String(), "\n")
		assert.True(t, lines == loudFailures, "%d lines:\n%s", lines, log)
	})
}
