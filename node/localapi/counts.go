package localapi

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// counts are those of requests (A-DEV-15).
type counts struct {
	requests, list, get, getErrors, allocatable *prometheus.CounterVec
}

func newCounts() counts {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kubelet_pod_resources_endpoint_" + name, Help: help}, []string{"server_api_version"})
	}
	return counts{
		requests:    counter("requests_total", "Cumulative number of requests to the PodResource endpoint. Broken down by server api version."),
		list:        counter("requests_list", "Number of requests to the PodResource List endpoint. Broken down by server api version."),
		get:         counter("requests_get", "Number of requests to the PodResource Get endpoint. Broken down by server api version."),
		getErrors:   counter("errors_get", "Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version."),
		allocatable: counter("requests_get_allocatable", "Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version."),
	}
}

// asked counts a request.
func (c counts) asked(method *prometheus.CounterVec) {
	c.requests.WithLabelValues("v1").Inc()
	method.WithLabelValues("v1").Inc()
}

// Collectors are the metrics of the node's API.
func (s *PodResources) Collectors() []prometheus.Collector {
	c := s.counts
	return []prometheus.Collector{c.requests, c.list, c.get, c.getErrors, c.allocatable}
}

// podsCounts are those of requests for pods (A-NODE-8).
type podsCounts struct {
	requests, list, get, watch *prometheus.CounterVec
}

func newPodsCounts() podsCounts {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubelet_pod_requests_" + name, Help: help + " Broken down by server api version and status code.",
		}, []string{"server_api_version", "status_code"})
	}
	return podsCounts{
		requests: counter("total", "Cumulative number of requests to the PodsAPI endpoint."),
		list:     counter("list_total", "Number of requests to the PodsAPI List endpoint."),
		get:      counter("get_total", "Number of requests to the PodsAPI Get endpoint."),
		watch:    counter("watch_total", "Number of requests to the PodsAPI Watch endpoint."),
	}
}

// asked counts a request that was answered; a watch, when it has ended.
func (c podsCounts) asked(method *prometheus.CounterVec, err error) {
	code := status.Code(err)
	if errors.Is(err, context.Canceled) {
		code = codes.Canceled
	}
	c.requests.WithLabelValues("v1alpha1", code.String()).Inc()
	method.WithLabelValues("v1alpha1", code.String()).Inc()
}

// Collectors are the metrics of the API.
func (s *PodsAPI) Collectors() []prometheus.Collector {
	c := s.counts
	return []prometheus.Collector{c.requests, c.list, c.get, c.watch}
}
