package server

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/worker/podlog"
)

// logOptions are v1.PodLogOptions as a query has them.
type logOptions struct {
	podlog.LineOptions
	follow, previous bool
}

// What the kubelet says of a query that is not well formed, or has values that
// can't be; the API server has said more before.
var (
	errUndecodable = errors.New(`{"message": "Unable to decode query."}`)
	errInvalid     = errors.New(`{"message": "Invalid request."}`)
)

func parseLogOptions(q url.Values, now time.Time) (o logOptions, err error) {
	if tail := q.Get("tail"); tail == "all" {
		q.Del("tailLines")
	} else if tail != "" {
		q.Set("tailLines", tail)
	}
	o.follow, o.previous, o.Timestamps = truth(q, "follow"), truth(q, "previous"), truth(q, "timestamps")
	tail, hasTail, err := integer(q, "tailLines", 0)
	if err != nil {
		return o, err
	}
	if o.Tail = -1; hasTail {
		o.Tail = tail
	}
	if o.Limit, _, err = integer(q, "limitBytes", 1); err != nil {
		return o, err
	}
	if o.Since, err = since(q, now); err != nil {
		return o, err
	}
	switch stream := q.Get("stream"); stream {
	case "", v1.LogStreamAll:
	case v1.LogStreamStdout:
		o.Stream = string(runtimeapi.Stdout)
	case v1.LogStreamStderr:
		o.Stream = string(runtimeapi.Stderr)
	default:
		return o, errInvalid
	}
	if o.Stream != "" && hasTail {
		return o, errInvalid
	}
	return o, nil
}

func since(q url.Values, now time.Time) (time.Time, error) {
	seconds, hasSeconds, err := integer(q, "sinceSeconds", 1)
	text := q.Get("sinceTime")
	switch {
	case err != nil:
		return time.Time{}, err
	case hasSeconds && text != "":
		return time.Time{}, errInvalid
	case hasSeconds:
		return now.Add(-time.Duration(seconds) * time.Second), nil
	case text == "" || text == "null":
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errUndecodable
	}
	return at, nil
}

func integer(q url.Values, name string, least int64) (n int64, given bool, err error) {
	text := q.Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false, errUndecodable
	}
	if n < least {
		return 0, false, errInvalid
	}
	return n, true, nil
}

// truth is a boolean as the API reads one of a query: what is given is true,
// unless it says otherwise.
func truth(q url.Values, name string) bool {
	return q.Has(name) && !strings.EqualFold(q.Get(name), "false") && q.Get(name) != "0"
}
