package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"

	"k8s.io/client-go/kubernetes"
)

// requests are how often the API server was asked to write what, as its metrics count them: by resource and subresource.
type requests map[string]int

var requestTotal = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\d+)`)

// label is one of a metric.
func label(of []byte, name string) string {
	_, rest, _ := bytes.Cut(of, []byte(","+name+`="`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

// writesAsked asks the API server.
func writesAsked(ctx context.Context, client kubernetes.Interface) (requests, error) {
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its metrics: %w", err)
	}
	all := requests{}
	for line := range bytes.Lines(text) {
		found := requestTotal.FindSubmatch(line)
		if found == nil {
			continue
		}
		labels := append([]byte(","), found[1]...)
		count, err := strconv.Atoi(string(found[2]))
		if err != nil {
			return nil, fmt.Errorf("metrics of the API server: %q: %w", line, err)
		}
		switch label(labels, "verb") {
		case "POST", "PUT", "PATCH", "APPLY", "DELETE":
			what := label(labels, "resource")
			if sub := label(labels, "subresource"); sub != "" {
				what += "/" + sub
			}
			if code := label(labels, "code"); code >= "400" {
				what += " refused with " + code
			}
			all[what] += count
		}
	}
	return all, nil
}

func (r requests) minus(o requests) requests {
	left := requests{}
	for what, n := range r {
		if n > o[what] {
			left[what] = n - o[what]
		}
	}
	return left
}
