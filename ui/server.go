package ui

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/connlimit"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/timeline/draw"
)

//go:embed assets
var assets embed.FS

// Config is what a page shows.
type Config struct {
	Pods    *client.Client // the pods of this machine's lifepods
	Journal journal.Source // what happened to them
	Cluster *Cluster       // nil: there is none
	Log     *slog.Logger
}

// Server serves the page until it is closed.
type Server struct {
	Config
	listener *connlimit.Listener
	door     *door
	lookers  map[sentence.Language]*looker
	gone     gone
	http     *http.Server
	places   chan struct{} // one for each connection that stays open
	stop     context.CancelFunc
}

// maxOpen is how many lives, logs and consoles may be open at once.
const maxOpen = 48

// maxConnections is how many connections browsers may have, half of them from one address.
const maxConnections = 200

// AnyPort is an address of this machine alone, with a port that is free.
const AnyPort = "127.0.0.1:0"

// Listen makes a server at ADDRESS:PORT, which has to be this machine's own.
func Listen(c Config, address string) (*Server, error) {
	if err := checkLoopback(address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the page: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{Config: c, listener: connlimit.New(l, min(maxConnections, connlimit.Share(8))), door: newDoor(), places: make(chan struct{}, maxOpen), stop: stop}
	if c.Cluster != nil {
		c.Pods.Elsewhere = c.Cluster.pods
	}
	s.lookers = map[sentence.Language]*looker{}
	for _, l := range []sentence.Language{sentence.English, sentence.Chinese} {
		s.lookers[l] = newLooker(func(ctx context.Context) any { return s.overview(ctx, l) })
	}
	s.http = &http.Server{
		Handler: guard(s.routes()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// checkLoopback refuses addresses that others can reach.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %s: want ADDRESS:PORT, such as 127.0.0.1:0", plain.Line(address))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen %s: want an address that only this machine can reach, such as 127.0.0.1:0: who has the page may run commands in pods; from elsewhere use ssh -L", plain.Line(address))
	}
	return nil
}

// Link makes a link to the page, which works once and ends the one before.
func (s *Server) Link() string { return s.door.link(s.listener.Addr().String()) }

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.Close)()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// Close ends the server, with all that is open.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close()     // what is lost is only shown
	_ = s.listener.Close() // if it was never served
}

func (s *Server) routes() http.Handler {
	page := http.NewServeMux()
	static, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // it is embedded
	}
	page.Handle("GET /", http.FileServerFS(static))
	page.HandleFunc("GET /chart.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(draw.Style())) // a browser that has gone needs no answer
	})
	page.HandleFunc("GET /words.js", func(w http.ResponseWriter, r *http.Request) {
		l := languageOf(r)
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = fmt.Fprintf(w, "export const language = %q;\nexport const words = %s;\n", cmp.Or(l, "en"), l.Catalogue())
	})
	page.HandleFunc("GET /api/live", s.held(s.live))
	page.HandleFunc("GET /api/rules/{number}", answering(rule))
	page.HandleFunc("GET /api/pods/{uid}/log", s.held(s.log))
	page.HandleFunc("GET /api/pods/{uid}/exec", s.held(s.exec))
	page.HandleFunc("POST /api/pods/{uid}/restart", answering(s.restart))
	page.HandleFunc("POST /api/pods/{uid}/stop", answering(s.stopPod))
	admitted := s.listener.Admitting(page)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.door.enter)
	mux.Handle(s.door.path, http.StripPrefix(s.door.path[:len(s.door.path)-1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.door.knows(r) {
			refuse(w)
			return
		}
		admitted.ServeHTTP(w, r)
	})))
	return mux
}

// languageOf is the language that a browser is set to.
func languageOf(r *http.Request) sentence.Language {
	return sentence.Accepted(r.Header.Get("Accept-Language"))
}

// held gives a connection that stays open a place; there are only so many.
func (s *Server) held(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
			handle(w, r)
		default:
			fail(w, http.StatusServiceUnavailable, errors.New("too many pages are open: close some"))
		}
	}
}

// answering answers with what a function returns, as JSON.
func answering(ask func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := ask(r)
		if err != nil {
			fail(w, http.StatusConflict, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value) // a browser that has gone needs no answer
	}
}

// fail answers with an error in one line.
func fail(w http.ResponseWriter, code int, err error) {
	http.Error(w, plain.Line(err.Error()), code)
}
