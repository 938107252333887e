package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
)

// controller answers one call, when it is let.
type controller struct {
	csi.UnimplementedControllerServer

	let chan struct{}
}

func (c controller) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	<-c.let
	if request.GetName() == "full" {
		return nil, status.Error(codes.ResourceExhausted, "no room")
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{VolumeId: "n1:" + request.GetName()}}, nil
}

// controllerClient calls the server as the user of a certificate.
func (a *authority) controllerClient(t *testing.T, s *Server, certificates ...tls.Certificate) csi.ControllerClient {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	connection := assert.Get(grpc.NewClient(s.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: certificates})))).Must(t)
	t.Cleanup(func() { _ = connection.Close() })
	return csi.NewControllerClient(connection)
}

// TestController: who may create nodes/proxy may call the controller of a CSI driver, and
// nobody else; the node's API has no such path without one. A call takes as long as it takes.
func TestController(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	driver := grpc.NewServer()
	csi.RegisterControllerServer(driver, controller{let: let})
	s, ca, api, _ := securedWith(t, func(c *Config) { c.Controller = driver })
	api.allowed["alice create proxy"], api.allowed["bob get proxy"] = true, true
	alice := ca.controllerClient(t, s, ca.sign(t, "alice"))
	answer := make(chan error, 1)
	go func() {
		made, err := alice.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "a"})
		assert.True(t, err != nil || made.GetVolume().GetVolumeId() == "n1:a", "made %v", made)
		answer <- err
	}()
	for name, test := range map[string]struct {
		client csi.ControllerClient
		want   codes.Code
	}{
		"nobody":                  {ca.controllerClient(t, s), codes.Unauthenticated},
		"a user who may only get": {ca.controllerClient(t, s, ca.sign(t, "bob")), codes.PermissionDenied},
	} {
		_, err := test.client.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "b"})
		assert.True(t, status.Code(err) == test.want, "%s: %v, want %v", name, err, test.want)
	}
	select {
	case err := <-answer:
		t.Fatalf("answered before the driver did: %v", err)
	default:
		close(let)
	}
	assert.NoError(t, <-answer)
	_, err := alice.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "full"})
	assert.True(t, status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "no room"), "an error of the driver: %v", err)

	without, ca, api, _ := secured(t, nil)
	api.allowed["alice create proxy"] = true
	response := assert.Get(ca.client(t, ca.sign(t, "alice")).Post("https://"+without.Addr().String()+csi.Controller_CreateVolume_FullMethodName, "application/grpc", http.NoBody)).Must(t)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.True(t, err == nil && response.StatusCode == http.StatusNotFound, "without a driver: %s %q (%v)", response.Status, text, err)
}
