package ui

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/plain"
)

// maxInput is the largest message of a console.
const maxInput = 64 << 10

// said is a message to the page: output, or the end.
type said struct {
	Out  string `json:"out,omitempty"`
	Err  string `json:"err,omitempty"`
	End  string `json:"end,omitempty"` // why there is no more
	Code *int   `json:"code,omitempty"`
}

// typed is a message of the page.
type typed struct {
	In  string `json:"in"`
	EOF bool   `json:"eof"`
}

// exec runs a command in a container over a WebSocket, without a terminal: what is typed is its standard
// input. When the page goes, the command is ended.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	pod, err := s.find(r.Context(), r.PathValue("uid"))
	if err == nil && len(q["command"]) == 0 {
		err = errors.New("no command to run")
	}
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	upgrade := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // guard has checked it
	conn, err := upgrade.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer func() { _ = conn.Close() }()
	conn.SetReadLimit(maxInput)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &console{conn: conn}
	stdin, write := io.Pipe()
	go func() {
		defer cancel()
		c.read(write)
	}()
	stdout := plain.OutputWriter(c.writer(func(text string) said { return said{Out: text} }))
	stderr := plain.OutputWriter(c.writer(func(text string) said { return said{Err: text} }))
	code, err := pod.Exec(ctx, q.Get("container"), q["command"], client.Streams{Stdin: stdin, Stdout: stdout, Stderr: stderr})
	_, _ = stdout.Close(), stderr.Close()
	_ = stdin.Close()
	end := said{End: "ended", Code: &code}
	if err != nil {
		end.End = plain.Line(err.Error())
	}
	_ = c.say(end) // the page may have gone
}

// console is a page's end of a session.
type console struct {
	mu   sync.Mutex // of writes
	conn *websocket.Conn
}

// read passes on what is typed until the page goes.
func (c *console) read(to *io.PipeWriter) {
	defer func() { _ = to.CloseWithError(io.EOF) }()
	for {
		var m typed
		if err := c.conn.ReadJSON(&m); err != nil {
			return
		}
		if m.EOF {
			_ = to.Close()
			continue
		}
		_, _ = io.WriteString(to, m.In) // a command that reads no more needs nothing
	}
}

func (c *console) say(m said) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // it never fails
	return c.conn.WriteJSON(m)
}

func (c *console) writer(as func(string) said) io.Writer { return consoleWriter{c, as} }

type consoleWriter struct {
	*console
	as func(string) said
}

// Write implements io.Writer.
func (w consoleWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return len(p), w.say(w.as(string(p)))
}
