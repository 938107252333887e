package dns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/miekg/dns"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// Config is what cluster DNS depends on.
type Config struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // Services, EndpointSlices, Namespaces, Nodes

	Node      string // name of this node
	Address   net.IP // of this machine, where pods of all nodes reach it
	Port      int    // UDP and TCP; if it is taken, or 0, another one
	ServiceIP string // of the Service kube-dns
	Domain    string // of the cluster, such as cluster.local

	ResolvConf string // of the machine; DefaultResolvConf

	Log *slog.Logger
}

// DefaultResolvConf names the machine's DNS servers.
const DefaultResolvConf = "/etc/resolv.conf"

// Run answers until ctx ends.
func Run(ctx context.Context, c Config) error {
	if c.ResolvConf == "" {
		c.ResolvConf = DefaultResolvConf
	}
	known, err := c.objects()
	if err != nil {
		return err
	}
	c.Informers.Start(ctx.Done())
	if !known.wait(ctx) {
		return nil
	}
	outside := &outside{file: c.ResolvConf, never: c.ServiceIP, port: strconv.Itoa(port), log: c.Log}
	defer outside.close()
	first, err := c.chain(known, outside)
	if err != nil {
		return err
	}
	sockets, err := listen(c.Address, c.Port)
	if err != nil {
		return err
	}
	h := &handler{first: first, known: known, log: c.Log}
	servers := []*dns.Server{
		{PacketConn: sockets.udp, Handler: h, UDPSize: dns.MaxMsgSize},
		{Listener: sockets.tcp, Handler: h},
	}
	ended := make(chan error, len(servers))
	for _, s := range servers {
		go func() { ended <- s.ActivateAndServe() }()
	}
	err = c.publish(ctx, sockets.port)
	if err == nil {
		c.Log.Info("cluster DNS answers", "address", c.Address, "port", sockets.port)
		err = c.await(ctx, known, ended)
	}
	if ctx.Err() != nil {
		err = nil
	}
	sockets.close()
	for range servers {
		if e := <-ended; e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, fmt.Errorf("cluster DNS: %w", e))
		}
	}
	return err
}

// await returns when ctx ends, or one of the servers, whose error stays in ended.
func (c Config) await(ctx context.Context, known *objects, ended chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	guarded := make(chan error, 1)
	go func() { guarded <- c.guard(ctx, known) }()
	select {
	case <-ctx.Done():
		return <-guarded
	case err := <-guarded:
		return err
	case err := <-ended:
		ended <- err
		cancel()
		return errors.Join(err, <-guarded)
	}
}
