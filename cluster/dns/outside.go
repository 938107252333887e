package dns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/coredns/coredns/plugin/forward"
	"github.com/coredns/coredns/plugin/pkg/proxy"
	"github.com/coredns/coredns/plugin/pkg/transport"
	"github.com/miekg/dns"
)

// outside asks the machine's DNS servers, of the file as it is at the time.
type outside struct {
	file  string
	never string // address of a server that is this one
	port  string // of the servers
	log   *slog.Logger

	mu      sync.Mutex
	changed time.Time // of the file that was read
	servers *forward.Forward
	problem error
}

func (o *outside) Name() string { return "outside" }

// ServeDNS asks, and answers SERVFAIL where there is nobody to ask.
func (o *outside) ServeDNS(ctx context.Context, w dns.ResponseWriter, question *dns.Msg) (int, error) {
	servers, err := o.current()
	if err != nil {
		return dns.RcodeServerFailure, err
	}
	return servers.ServeDNS(ctx, w, question)
}

// current reads the file if it isn't the one that was read last: laptops change
// their network.
func (o *outside) current() (*forward.Forward, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var changed time.Time
	about, err := os.Stat(o.file)
	if err == nil {
		changed = about.ModTime()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if (o.servers != nil || o.problem != nil) && changed.Equal(o.changed) {
		return o.servers, o.problem
	}
	o.stop()
	o.changed = changed
	if o.servers, o.problem = o.read(); o.problem != nil {
		o.log.Warn("pods find no names outside of the cluster", "err", o.problem)
	}
	return o.servers, o.problem
}

func (o *outside) read() (*forward.Forward, error) {
	config, err := dns.ClientConfigFromFile(o.file)
	if err != nil {
		return nil, fmt.Errorf("read the machine's DNS servers: %w", err)
	}
	servers := forward.New()
	for _, s := range config.Servers {
		if s != o.never {
			servers.SetProxy(proxy.NewProxy("forward", net.JoinHostPort(s, o.port), transport.DNS))
		}
	}
	if servers.Len() == 0 {
		return nil, fmt.Errorf("read the machine's DNS servers: %s has none but the cluster's own", o.file)
	}
	return servers, nil
}

func (o *outside) stop() {
	if o.servers != nil {
		_ = o.servers.OnShutdown() // it has no errors
		o.servers = nil
	}
}

func (o *outside) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop()
}
