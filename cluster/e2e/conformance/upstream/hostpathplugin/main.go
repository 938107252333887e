// Command hostpathplugin stands in for the CSI driver of that name in upstream's tests, which
// use it as one of two things: as a driver that mounts nothing, which is upstream's mock driver
// here, and as a proxy between a driver in the tests' process and a socket on a node.
package main

import (
	"context"
	"flag"
	"os/signal"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

func main() {
	config := service.Config{}
	klog.InitFlags(nil)
	flag.StringVar(&config.DriverName, "drivername", "hostpath.csi.k8s.io", "name of the driver")
	flag.Int64Var(&config.AttachLimit, "attach-limit", 0, "how many volumes a node may have")
	flag.BoolVar(&config.EnableTopology, "enable-topology", false, "tell the node's topology")
	flag.BoolVar(&config.NodeExpansionRequired, "node-expand-required", false, "expand volumes on the node, too")
	attach := flag.Bool("enable-attach", false, "attach volumes")
	endpoint := flag.String("endpoint", "", "socket to serve `path`")
	behind := flag.String("proxy-endpoint", "", "connect those of endpoint with those of this `address`, tcp://:port")
	flag.String("nodeid", "", "ignored: the mock driver names nodes itself")
	flag.String("statedir", "", "ignored: the mock driver keeps no files")
	flag.Parse()
	config.DisableAttach = !*attach

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var err error
	if *behind != "" {
		err = proxy(ctx, *endpoint, *behind)
	} else {
		err = serve(ctx, *endpoint, config)
	}
	if err != nil {
		klog.Fatal(err)
	}
}

// serve serves the mock driver until the context ends.
func serve(ctx context.Context, endpoint string, config service.Config) error {
	listener, err := listen(endpoint)
	if err != nil {
		return err
	}
	s := service.New(config)
	d := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: s, Identity: s, Node: node{s}})
	if err := d.Start(listener, nil); err != nil {
		return err
	}
	<-ctx.Done()
	d.Stop()
	return nil
}

// node is that of csi-driver-host-path in one thing: it does not ask whether its volumes are
// attached. The mock driver would refuse one without the device that attaching it has named.
type node struct{ service.Service }

func withDevice(attached map[string]string) map[string]string {
	if attached["device"] != "" {
		return attached
	}
	return map[string]string{"device": "not attached"}
}

func (n node) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	r.PublishContext = withDevice(r.PublishContext)
	return n.Service.NodeStageVolume(ctx, r)
}

func (n node) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	r.PublishContext = withDevice(r.PublishContext)
	return n.Service.NodePublishVolume(ctx, r)
}
