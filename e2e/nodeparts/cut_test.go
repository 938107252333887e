package nodeparts

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/connrotation"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/register"
)

// network stands between a node and the API server. While it is cut, nothing
// that is sent arrives, and nobody is told.
type network struct {
	net.Listener
	to string

	mu  sync.Mutex
	cut chan struct{} // closed when the network is whole
}

func newNetwork(t *testing.T, to string) *network {
	t.Helper()
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	n := &network{Listener: listener, to: to, cut: make(chan struct{})}
	n.mend()
	t.Cleanup(func() { _ = listener.Close(); n.mend() })
	go n.serve()
	return n
}

func (n *network) serve() {
	for {
		from, err := n.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", n.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		go n.carry(from, to)
		go n.carry(to, from)
	}
}

func (n *network) carry(from, to net.Conn) {
	defer func() { _ = from.Close() }()
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		size, err := from.Read(buffer)
		n.mu.Lock()
		whole := n.cut
		n.mu.Unlock()
		<-whole
		if size > 0 {
			if _, err := to.Write(buffer[:size]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (n *network) sever() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = make(chan struct{})
}

func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.cut:
	default:
		close(n.cut)
	}
}

// The network is cut without a word: the node notices by its Lease, drops its
// connections, and its Lease is renewed when the network is mended.
func TestNetworkCut(t *testing.T) {
	file := assert.Get(plane.NodeKubeconfig("cut")).Must(t)
	config := assert.Get(clientcmd.BuildConfigFromFlags("", file)).Must(t)
	server := assert.Get(url.Parse(config.Host)).Must(t)
	between := newNetwork(t, server.Host)
	config.Host = "https://" + between.Addr().String()
	connections := connrotation.NewDialer((&net.Dialer{}).DialContext)
	config.Dial = connections.DialContext
	broken := make(chan struct{}, 1)
	began := time.Now()
	run(t, "cut", func(c *register.Config) {
		c.API.Client = newClient(t, config)
		c.API.Broken = func() {
			connections.CloseAll()
			select {
			case broken <- struct{}{}:
			default:
			}
		}
		c.Timing.LeaseSeconds = 4 // renewed every second
	})
	before := leaseOf(t, "cut", func(l *coordinationv1.Lease) bool { return l.Spec.RenewTime.After(began) })
	between.sever()
	<-broken
	between.mend()
	leaseOf(t, "cut", func(l *coordinationv1.Lease) bool { return l.Spec.RenewTime.After(before.Spec.RenewTime.Time) })
	await(t, "cut", "Ready", isReady)
}
