package control

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// peerKey is the key in a request's context for the sender.
type peerKey struct{}

// peer is the process at the other end of a connection; err says why it is not known.
type peer struct {
	pid int32
	uid uint32
	err error
}

// withPeer notes who connected, as the kernel saw it then (SO_PEERCRED).
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, peerOf(conn))
}

func peerOf(conn net.Conn) peer {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return peer{err: fmt.Errorf("a %T has no peer credentials", conn)}
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return peer{err: err}
	}
	var credentials *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return peer{err: err}
	}
	return peer{pid: credentials.Pid, uid: credentials.Uid}
}

// Owner is the process behind a socket.
func Owner(path string) (pid int, err error) {
	conn, err := Dial(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	p := peerOf(conn)
	return int(p.pid), p.err
}

// rootOnly refuses everybody but root.
func rootOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := r.Context().Value(peerKey{}).(peer)
		if !ok || p.err != nil || p.uid != 0 {
			fail(w, refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "only root may see and steer pods"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
