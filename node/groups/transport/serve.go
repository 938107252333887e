package transport

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Path is below which a node's API has what this package serves; the node's name follows.
const (
	Path       = "/lifepod/groups/"
	joinPath   = "/join"
	streamPath = "/stream"

	attachHeader = "Lifepod-Attach" // of a stream: the request, in Base64
)

const (
	readWait = 5 * time.Second // for the request of a peer to come
	mostRead = 8               // requests of one peer are read at the same time
)

// ServePeer serves another node, whose certificate has been verified.
func (n *Node) ServePeer(w http.ResponseWriter, r *http.Request, from string) {
	what, mine := strings.CutPrefix(r.URL.Path, Path+n.Name+"/")
	switch what = "/" + what; {
	case !mine:
		http.Error(w, "this is node "+n.Name, http.StatusMisdirectedRequest)
	case r.Method != http.MethodPost || r.ProtoMajor != 2:
		http.Error(w, "want POST by HTTP/2", http.StatusMethodNotAllowed)
	case what == joinPath:
		n.serveJoin(w, r, from)
	case what == streamPath:
		n.serveStream(w, r, from)
	default:
		http.NotFound(w, r)
	}
}

// reads counts a request of a peer; false: there are too many.
func (n *Node) reads(from string, change int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if change > 0 && n.read[from] >= mostRead {
		return false
	}
	if n.read[from] += change; n.read[from] == 0 {
		delete(n.read, from)
	}
	return true
}

func (n *Node) serveJoin(w http.ResponseWriter, r *http.Request, from string) {
	if !n.reads(from, +1) {
		http.Error(w, "too many requests of "+from, http.StatusTooManyRequests)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(n.readWait)) // HTTP/2 has it
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	n.reads(from, -1)
	var answer []byte
	if err == nil {
		ip, _, _ := net.SplitHostPort(r.RemoteAddr) // a server has it in this form
		answer, err = n.admit(from, ip, request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	_, _ = w.Write(answer) // who has gone needs none
}

func (n *Node) serveStream(w http.ResponseWriter, r *http.Request, from string) {
	var c *child
	request, err := base64.StdEncoding.DecodeString(r.Header.Get(attachHeader))
	if err == nil {
		c, err = n.attach(from, request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	s := &served{r.Body, w, http.NewResponseController(w)}
	_ = s.Flush() // the peer waits for it
	n.Log.Debug("the stream of a child has ended", "child", from, "group", c.Group.name, "err", c.serve(r.Context(), s))
}

// served is the server's end of a stream.
type served struct {
	io.Reader
	to io.Writer
	*http.ResponseController
}

func (s *served) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	if err == nil {
		err = s.Flush()
	}
	return n, err
}

// Close ends what reads.
func (s *served) Close() error { return s.SetReadDeadline(time.Unix(1, 0)) }
