package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// news is what the holder of the supervisor's lock tells the others, one
// JSON object a line: which containerd answers now. Whoever knew another one
// learns by it of a restart, also of one that happened while the supervision
// passed from one process to the next.
type news struct {
	pidfd.ID
	// Since is when it began to answer, as far as the supervisor knows.
	Since time.Time `json:"since"`
}

// sameAs says whether both tell of the same containerd.
func (n news) sameAs(other news) bool { return n.ID == other.ID }

// newsServer is where the supervisor tells its followers the news. A follower
// that connects late hears the latest.
type newsServer struct {
	listener net.Listener
	mu       sync.Mutex
	latest   *news
	conns    []net.Conn
	closed   bool

	done chan struct{}
}

// beatInterval is how often a supervisor that has no news says that it lives;
// well below the time that followers bear silence.
const beatInterval = 300 * time.Millisecond

func openNewsServer(path string) (*newsServer, error) {
	// A socket without the lock is one that a killed supervisor left.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("supervise containerd: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("supervise containerd: %w", err)
	}
	st := &newsServer{listener: listener, done: make(chan struct{})}
	go st.accept()
	go st.beat()
	return st, nil
}

// beat sends empty news until there is some, or the server closes.
func (st *newsServer) beat() {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-st.done:
			return
		case <-ticker.C:
		}
		if st.hasNews() {
			return
		}
		st.broadcast(news{})
	}
}

func (st *newsServer) hasNews() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.latest != nil
}

func (st *newsServer) broadcast(n news) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, conn := range st.conns {
		send(conn, n)
	}
}

// accept ends when the listener is closed.
func (st *newsServer) accept() {
	for {
		conn, err := st.listener.Accept()
		if err != nil {
			return
		}
		st.mu.Lock()
		switch {
		case st.closed:
			_ = conn.Close()
		case st.latest != nil:
			send(conn, *st.latest)
			st.conns = append(st.conns, conn)
		default:
			st.conns = append(st.conns, conn)
		}
		st.mu.Unlock()
	}
}

// tell never waits for a follower for long: one that does not read is cut
// off and connects again.
func (st *newsServer) tell(n news) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.latest = &n
	for _, conn := range st.conns {
		send(conn, n)
	}
}

func send(conn net.Conn, n news) {
	text, err := json.Marshal(n)
	if err == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, err = conn.Write(append(text, '\n'))
	}
	if err != nil {
		_ = conn.Close()
	}
}

func (st *newsServer) close() {
	_ = st.listener.Close()
	close(st.done)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for _, conn := range st.conns {
		_ = conn.Close()
	}
}
