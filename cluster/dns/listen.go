package dns

import (
	"errors"
	"fmt"
	"net"

	"github.com/lifepod/lifepod/internal/connlimit"
)

// sockets are on the same port of UDP and TCP.
type sockets struct {
	udp  net.PacketConn
	tcp  net.Listener
	port int
}

// attempts are for a free port of UDP whose twin of TCP is free, too.
const attempts = 20

func listen(address net.IP, port int) (sockets, error) {
	s, first := listenOn(address, port)
	if first == nil {
		return s, nil
	}
	for range attempts {
		if s, err := listenOn(address, 0); err == nil {
			return s, nil
		}
	}
	return s, fmt.Errorf("cluster DNS: %w", first)
}

func listenOn(address net.IP, port int) (sockets, error) {
	udp, err := net.ListenPacket("udp", (&net.UDPAddr{IP: address, Port: port}).String())
	if err != nil {
		return sockets{}, err
	}
	own := udp.LocalAddr().(*net.UDPAddr).Port
	tcp, err := net.Listen("tcp", (&net.TCPAddr{IP: address, Port: own}).String())
	if err != nil {
		return sockets{}, errors.Join(err, udp.Close())
	}
	return sockets{udp: udp, tcp: connlimit.New(tcp, connlimit.Share(16)), port: own}, nil
}

func (s sockets) close() {
	_ = s.udp.Close() // the servers end by it, and tell errors of their own
	_ = s.tcp.Close()
}
