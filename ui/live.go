package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
)

const (
	// beatEvery is how often a connection that has nothing to tell shows that it lives.
	beatEvery = 15 * time.Second
	// writeTimeout is how long a browser may not read.
	writeTimeout = 20 * time.Second
)

// live tells a browser by Server-Sent Events how all pods are (overview), and how what it shows is:
// one pod (pod=UID), or a table of a cluster (table=deployments).
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	list, end := s.lookers[languageOf(r)].watch()
	defer end()
	shown := s.shown(ctx, r)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	to := http.NewResponseController(w)
	for {
		var err error
		select {
		case text := <-list:
			_, err = fmt.Fprintf(w, "event: overview\ndata: %s\n\n", text)
		case text := <-shown:
			_, err = fmt.Fprintf(w, "event: shown\ndata: %s\n\n", text)
		case <-beat.C:
			_, err = fmt.Fprint(w, ": \n\n")
		case <-ctx.Done():
			return
		}
		_ = to.SetWriteDeadline(time.Now().Add(writeTimeout)) // all connections have one
		if err != nil || to.Flush() != nil {
			return
		}
	}
}

// shown looks at what a browser shows, until ctx ends; each look that differs from the one before is
// sent as JSON.
func (s *Server) shown(ctx context.Context, r *http.Request) <-chan []byte {
	var look func() (any, error)
	every := lookEvery
	q := r.URL.Query()
	switch uid, table := q.Get("pod"), q.Get("table"); {
	case uid != "":
		look = func() (any, error) { return s.podPage(ctx, uid, languageOf(r)) }
	case table != "" && s.Cluster != nil:
		every *= 2 // the API server is asked
		look = func() (any, error) { return s.Cluster.Table(ctx, table) }
	default:
		return nil
	}
	to := make(chan []byte)
	go func() {
		var last []byte
		for ctx.Err() == nil {
			began := time.Now()
			value, err := look()
			if err != nil {
				value = map[string]string{"error": plain.Line(err.Error())}
			}
			text, err := json.Marshal(value)
			if err != nil {
				panic(err) // our own types can be written
			}
			if !bytes.Equal(text, last) {
				select {
				case to <- text:
					last = text
				case <-ctx.Done():
				}
			}
			pause(ctx, max(time.Since(began), every/lookShare))
		}
	}()
	return to
}
