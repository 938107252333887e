package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
)

// readiness is the address to which containerd reports, in systemd's
// notification protocol, that CRI is served: an event, where polling the
// socket would only say that somebody listens.
type readiness struct {
	conn  *net.UnixConn
	heard chan struct{}
}

func listenReady(path string) (*readiness, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen for containerd's readiness: %w", err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listen for containerd's readiness: %w", err)
	}
	r := &readiness{conn: conn, heard: make(chan struct{})}
	go r.listen()
	return r, nil
}

// listen ends with the first notification that says ready, or with close.
func (r *readiness) listen() {
	message := make([]byte, 4096)
	for {
		n, err := r.conn.Read(message)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(message[:n])) {
			if strings.TrimSpace(line) == "READY=1" {
				close(r.heard)
				return
			}
		}
	}
}

func (r *readiness) close() {
	_ = r.conn.Close()
	_ = os.Remove(r.conn.LocalAddr().String())
}
