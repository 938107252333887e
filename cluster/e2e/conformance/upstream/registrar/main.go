// Command registrar registers a CSI driver with the node, by the API for plugins, as the
// sidecar node-driver-registrar does. That sidecar is not published as a Go module.
package main

import (
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// registrationFolder is where the manifests of drivers mount the node's plugins_registry.
const registrationFolder = "/registration"

type server struct {
	registration.UnimplementedRegistrationServer

	info *registration.PluginInfo
}

func (s server) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	klog.Info("the node asks for the driver")
	return s.info, nil
}

func (s server) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	klog.Infof("registered: %v %s", status.PluginRegistered, status.Error)
	if !status.PluginRegistered {
		os.Exit(1) // to be started again
	}
	return &registration.RegistrationStatusResponse{}, nil
}

func main() {
	klog.InitFlags(nil)
	address := flag.String("csi-address", "", "the driver's socket")
	endpoint := flag.String("kubelet-registration-path", "", "the driver's socket, as the node sees it")
	timeout := flag.Duration("timeout", time.Second, "for the driver's answer")
	health := flag.String("http-endpoint", "", "the address of /healthz; empty: there is none")
	flag.Parse()
	if *health != "" {
		http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {}) // it runs
		go func() { klog.Fatal(http.ListenAndServe(*health, nil)) }()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *address, *endpoint, *timeout); err != nil {
		klog.Fatal(err)
	}
}

func run(ctx context.Context, address, endpoint string, timeout time.Duration) error {
	name, err := driverName(ctx, address, timeout)
	if err != nil {
		return err
	}
	path := filepath.Join(registrationFolder, name+"-reg.sock")
	_ = os.Remove(path) // of a process before
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	registration.RegisterRegistrationServer(s, server{info: &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: name, Endpoint: endpoint, SupportedVersions: []string{"1.0.0"},
	}})
	context.AfterFunc(ctx, s.Stop) // removes the socket
	return s.Serve(listener)
}

// driverName waits for the driver and asks it for its name.
func driverName(ctx context.Context, address string, timeout time.Duration) (string, error) {
	connection, err := grpc.NewClient("unix://"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	for {
		call, cancel := context.WithTimeout(ctx, timeout)
		info, err := csi.NewIdentityClient(connection).GetPluginInfo(call, &csi.GetPluginInfoRequest{}, grpc.WaitForReady(true))
		cancel()
		if err == nil || ctx.Err() != nil {
			return info.GetName(), err
		}
		klog.Infof("the driver does not answer yet: %v", err)
	}
}
