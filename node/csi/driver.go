package csi

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
)

// DriverTimeout is how long a call to a driver may take (A-CSI-3): the caller's ctx should end then.
const DriverTimeout = 2 * time.Minute

// Driver is a driver that has registered. Each call has a connection of its own, as those of
// the kubelet: a driver that has restarted is reached at once, and calls that are under way when
// another one takes its place go on. Its methods may be called from anywhere.
type Driver struct {
	name, endpoint string
	version        *version.Version
	options        []grpc.DialOption // of its connections

	nodeID     string // what the driver calls this node
	topology   map[string]string
	maxVolumes atomic.Int64 // that can be published on the node; 0: it doesn't say
}

// ask takes what the driver says of the node.
func (d *Driver) ask(ctx context.Context) error {
	answer, err := d.nodeInfo(ctx)
	if err != nil {
		return err
	}
	d.nodeID, d.topology = answer.GetNodeId(), answer.GetAccessibleTopology().GetSegments()
	d.maxVolumes.Store(answer.GetMaxVolumesPerNode())
	return nil
}

func (d *Driver) nodeInfo(ctx context.Context) (*csi.NodeGetInfoResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, DriverTimeout)
	defer cancel()
	return d.node().NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
}

func (d *Driver) about() *DriverOnNode {
	return &DriverOnNode{NodeID: d.nodeID, Topology: d.topology, MaxVolumes: d.maxVolumes.Load()}
}

// node makes calls of the driver.
func (d *Driver) node() csi.NodeClient { return csi.NewNodeClient(calls{driver: d}) }

// sizes are those that volumes have on this node, as far as they are known.
type sizes struct {
	mu    sync.Mutex
	known map[key]resource.Quantity
}

// of is the size that this agent knows, or that the pod's record has; zero if neither does.
func (s *sizes) of(v volume, recordDir string) resource.Quantity {
	s.mu.Lock()
	known, is := s.known[v.key()]
	s.mu.Unlock()
	if is {
		return known
	}
	r, err := readRecord(recordDir)
	if err != nil {
		return resource.Quantity{}
	}
	bytes, err := strconv.ParseInt(r[keySize], 10, 64)
	if err != nil {
		return resource.Quantity{}
	}
	return *resource.NewQuantity(bytes, resource.BinarySI)
}

func (s *sizes) set(k key, size resource.Quantity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[k] = size
}

func (s *sizes) drop(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, k)
}

// keepSize has the next agent know it, too.
func (p *publishing) keepSize() error {
	r, err := readRecord(p.recordDir())
	if err != nil || r == nil {
		return err
	}
	if size := p.on.sizes.of(p.want, p.recordDir()); !size.IsZero() && r.setSize(size) {
		return writeRecord(p.recordDir(), r)
	}
	return nil
}

// setSize says whether the record had another size.
func (r record) setSize(size resource.Quantity) bool {
	before := strings.TrimRight(r[keySize], " ")
	now := strconv.FormatInt(size.Value(), 10)
	r[keySize] = now + room(sizeDigits-len(now))
	return now != before
}
