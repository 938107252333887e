package node

import (
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// openCalls makes the calls of the node, counted and, if it sends traces, traced: over a
// connection of their own then. done closes what was opened.
func (s *setup) openCalls() (done func(), err error) {
	runtime := s.runtime.Client
	if options := s.traces.Calls(); options != nil {
		if runtime, err = cri.Dial(s.runtime.Endpoint, options...); err != nil {
			return nil, err
		}
	}
	closeRuntime := func() {
		if runtime != s.runtime.Client {
			_ = runtime.Close() // nothing is under way any more
		}
	}
	counted := s.counts.Runtime(runtime.Conn)
	s.calls = &cri.Client{
		Runtime: runtimeapi.NewRuntimeServiceClient(counted), Images: runtimeapi.NewImageServiceClient(counted), Conn: s.runtime.Conn,
	}
	closeImages, err := s.useImageService()
	if err != nil {
		closeRuntime()
		return nil, err
	}
	return func() { closeImages(); closeRuntime() }, nil
}

// useImageService has images asked for at an endpoint of their own, if the
// configuration names one that isn't the runtime's. done closes the connection.
func (s *setup) useImageService() (done func(), err error) {
	endpoint := s.config.Kubelet.ImageServiceEndpoint
	if endpoint == "" || endpoint == s.runtime.Endpoint {
		return func() {}, nil
	}
	client, err := cri.Dial(endpoint, s.traces.Calls()...)
	if err != nil {
		return nil, fmt.Errorf("imageServiceEndpoint: %w", err)
	}
	s.imagesElsewhere = true
	s.calls.Images = runtimeapi.NewImageServiceClient(s.counts.Runtime(client.Conn))
	return func() { _ = client.Close() }, nil // nothing is under way any more
}
