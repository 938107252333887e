package server

import (
	"net"
	"strconv"
)

// HealthPort is a port of its own for what AddHealth adds. Close it if it is not served.
type HealthPort struct{ net.Listener }

// ListenHealth takes the port.
func ListenHealth(host string, port int32) (*HealthPort, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		return nil, err
	}
	return &HealthPort{l}, nil
}
