package localapi

import "github.com/prometheus/client_golang/prometheus"

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
