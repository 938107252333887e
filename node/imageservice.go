package node

import (
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/metrics"
)

// useImageService has images asked for at an endpoint of their own, if the
// configuration names one that isn't the runtime's. done closes the connection.
func useImageService(c *config.Config, runtime string, calls *cri.Client, counts *metrics.Metrics) (elsewhere bool, done func(), err error) {
	endpoint := c.Kubelet.ImageServiceEndpoint
	if endpoint == "" || endpoint == runtime {
		return false, func() {}, nil
	}
	client, err := cri.Dial(endpoint)
	if err != nil {
		return false, nil, fmt.Errorf("imageServiceEndpoint: %w", err)
	}
	calls.Images = runtimeapi.NewImageServiceClient(counts.Runtime(client.Conn))
	return true, func() { _ = client.Close() }, nil // nothing is under way any more
}
