package node

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/stats"
)

// A call has the configured time, a sandbox twice as long (A-RES-4).
func TestTimeouts(t *testing.T) {
	for content, want := range map[string]time.Duration{"": 2 * time.Minute, "runtimeRequestTimeout: 30s": 30 * time.Second} {
		c, _ := configured(t, content)
		got := timeouts(c)
		assert.True(t, got.Call == want && got.Sandbox == 2*want && got.Pull >= time.Hour, "A-RES-4 %q: %+v, want %s for a call", content, got, want)
	}
}

// finding keeps what the runtime is told of the network.
type finding struct {
	runtimeapi.RuntimeServiceClient
	cidr string
}

func (r *finding) UpdateRuntimeConfig(_ context.Context, in *runtimeapi.UpdateRuntimeConfigRequest, _ ...grpc.CallOption) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	r.cidr = in.RuntimeConfig.NetworkConfig.PodCidr
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

// A runtime is told podCIDR where there is no cluster that gives the node one (A-RES-5).
func TestPodCIDR(t *testing.T) {
	for _, test := range []struct{ content, kubeconfig, want string }{
		{"", "", ""},
		{"podCIDR: 10.88.1.0/24", "", "10.88.1.0/24"},
		{"podCIDR: 10.88.1.0/24", "/node.conf", ""},
	} {
		c, _ := configured(t, test.content)
		runtime := &finding{}
		s := &setup{config: c, options: Options{Kubeconfig: test.kubeconfig}, runtime: &host.Runtime{}, calls: &cri.Client{Runtime: runtime}}
		_, err := s.newPodNetwork(t.Context())
		assert.True(t, err == nil && runtime.cidr == test.want, "A-RES-5 %+v: %q, %v", test, runtime.cidr, err)
	}
}

// imageService is one at an endpoint of its own.
type imageService struct {
	runtimeapi.UnimplementedImageServiceServer
}

func (imageService) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{Images: []*runtimeapi.Image{{Id: "elsewhere"}}}, nil
}

// Images are asked for at an endpoint of their own, if there is one (A-RES-4).
func TestImageServiceEndpoint(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener := assert.Get(net.Listen("unix", socket)).Must(t)
	server := grpc.NewServer()
	runtimeapi.RegisterImageServiceServer(server, imageService{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	c, _ := configured(t, "imageServiceEndpoint: unix://"+socket)
	s := &setup{config: c, runtime: &host.Runtime{Endpoint: "unix:///run/runtime.sock"}, calls: &cri.Client{}, counts: stats.NewMetrics(stats.MetricsConfig{})}
	done, err := s.useImageService()
	assert.Require(t, err == nil && s.imagesElsewhere, "A-RES-4 elsewhere: %t, %v", s.imagesElsewhere, err)
	defer done()
	list, err := s.calls.Images.ListImages(t.Context(), &runtimeapi.ListImagesRequest{})
	assert.True(t, err == nil && len(list.Images) == 1 && list.Images[0].Id == "elsewhere", "A-RES-4 images: %v, %v", list, err)
	s.calls, s.imagesElsewhere, s.runtime.Endpoint = &cri.Client{}, false, "unix://"+socket
	_, err = s.useImageService()
	assert.True(t, !s.imagesElsewhere && err == nil && s.calls.Images == nil, "A-RES-4 the runtime's own endpoint: %t, %v", s.imagesElsewhere, err)
}
