package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// ports are where a cluster is found; they stay the same when it is started again,
// because others know them.
type ports struct {
	API  int `json:"api"`
	Node int `json:"node"` // of the kubelet's API
	// Advertised is the address of the last start.
	Advertised string `json:"advertised,omitempty"`
}

// The first ports that are tried; several clusters of one machine have others.
const (
	apiPort   = 6443
	nodePort  = 10250
	portsEach = 100
	manyPorts = 2000
)

// chooseListen finds address and ports: what is asked for, what the cluster had
// before, or the first that are free. Without an address it is all of them, so that
// pods reach the API server.
func (l *layout) chooseListen(ctx context.Context) error {
	before, err := l.portsBefore()
	if err != nil {
		return err
	}
	if l.address = net.IPv4zero; l.Listen != "" {
		if err := l.parseListen(&before); err != nil {
			return err
		}
	}
	if l.ports.API, err = l.port(l.address, before.API, apiPort); err != nil {
		return fmt.Errorf("API server: %w: give another with --listen ADDRESS:PORT", err)
	}
	if err := l.chooseNodePort(before.Node); err != nil {
		return err
	}
	if err := l.chooseAdvertised(ctx, before.Advertised); err != nil {
		return err // and what is refused is not remembered
	}
	l.ports.Advertised = l.advertise.String()
	text, err := json.Marshal(l.ports)
	if err != nil {
		return err
	}
	return wholefile.Write(l.file("ports.json"), text)
}

// chooseNodePort finds the port of the node's API: what a flag or the node's
// configuration says, else as chooseListen.
func (l *layout) chooseNodePort(before int) error {
	want, err := l.wantedNodePort()
	if err != nil {
		return err
	}
	if want != 0 {
		if l.ports.Node, err = l.port(net.IPv4zero, want, 0); err != nil {
			return fmt.Errorf("API of the node: %w: give another with --port", err)
		}
		return nil
	}
	// Nobody remembers it but the Node object.
	if l.ports.Node, err = l.port(net.IPv4zero, before, l.firstNodePort()); err != nil {
		if l.ports.Node, err = l.port(net.IPv4zero, 0, l.firstNodePort()); err != nil {
			return fmt.Errorf("API of the node: %w", err)
		}
	}
	return nil
}

func (l *layout) wantedNodePort() (int, error) {
	if l.NodePort != 0 {
		return l.NodePort, nil
	}
	c, err := loadNodeConfig(l.NodeConfig, decidedByUp)
	if err != nil || c == nil || !c.Set("port") {
		return 0, err
	}
	return int(c.Kubelet.Port), nil
}

// firstNodePort is the usual one for the usual root. Others begin at different ones,
// so that several which start at the same time don't take each other's.
func (l *layout) firstNodePort() int {
	if l.Root == bundle.DefaultRoot {
		return nodePort
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(l.Root)) // never fails
	return nodePort + 1 + int(h.Sum32()%manyPorts)
}

func (l *layout) parseListen(before *ports) error {
	host, text, err := net.SplitHostPort(l.Listen)
	if err == nil {
		before.API, err = strconv.Atoi(text)
	}
	if host != "" {
		l.address = net.ParseIP(host)
	}
	if err != nil || l.address == nil || before.API < 1 || before.API > 65535 {
		return fmt.Errorf("--listen %q: want ADDRESS:PORT, such as 0.0.0.0:%d", l.Listen, apiPort)
	}
	return nil
}

func (l *layout) portsBefore() (p ports, err error) {
	text, err := os.ReadFile(l.file("ports.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("ports of the cluster: %w", err)
	}
	return p, nil
}

// port is the wanted one, which must be free, or the first from first on that is. It
// is kept for this process.
func (l *layout) port(address net.IP, want, first int) (int, error) {
	if want != 0 {
		return want, l.keep(address, want)
	}
	var err error
	for p := first; p < first+portsEach; p++ {
		if err = l.keep(address, p); err == nil {
			return p, nil
		}
	}
	return 0, err
}

// keep finds out whether a port is free, and keeps lifepods that start meanwhile from
// finding the same before this one listens there: by a name in the kernel that goes
// with the process.
func (l *layout) keep(address net.IP, port int) error {
	wanted := net.TCPAddr{IP: address, Port: port}
	kept, err := net.Listen("unix", "@lifepod-keeps-"+wanted.String())
	if err != nil {
		return fmt.Errorf("another lifepod has %s: %w", &wanted, syscall.EADDRINUSE)
	}
	listener, err := net.ListenTCP("tcp", &wanted)
	if err != nil {
		return errors.Join(err, kept.Close())
	}
	l.kept = append(l.kept, kept)
	return listener.Close()
}

func (l *layout) releasePorts() {
	for _, kept := range l.kept {
		_ = kept.Close() // nobody waits there
	}
}
