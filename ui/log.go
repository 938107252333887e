package ui

import (
	"io"
	"net/http"
	"time"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/worker/podlog"
)

// logLines is how many lines from the end of a log are shown; what comes is added.
const logLines = 1000

// log writes a container's log as plain text, and what comes. Nothing of it is obeyed by a terminal,
// but colours, which the page shows.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	container, previous := q.Get("container"), q.Get("previous") == "true"
	pod, err := s.find(r.Context(), r.PathValue("uid"))
	out := plain.OutputWriter(&flusher{w})
	defer func() { _ = out.Close() }() // a browser that has gone needs nothing
	if l := left(err); l != nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		back := 0
		if previous {
			back = 1
		}
		if err := l.Log(out, container, back, podlog.LineOptions{Tail: logLines}); err != nil {
			fail(w, http.StatusConflict, err)
		}
		return
	}
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	log, err := pod.Log(r.Context(), client.LogOptions{Container: container, Previous: previous, Follow: !previous, Tail: logLines})
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	defer func() { _ = log.Close() }() // only read
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_ = http.NewResponseController(w).Flush() // the page knows that it is open
	_, _ = io.Copy(out, log)                  // a log that breaks off ends, too
}

// flusher sends what is written at once; a browser that does not read ends it.
type flusher struct{ w http.ResponseWriter }

// Write implements io.Writer.
func (f *flusher) Write(p []byte) (int, error) {
	to := http.NewResponseController(f.w)
	_ = to.SetWriteDeadline(time.Now().Add(writeTimeout)) // all connections have one
	n, err := f.w.Write(p)
	if err == nil {
		err = to.Flush()
	}
	return n, err
}
