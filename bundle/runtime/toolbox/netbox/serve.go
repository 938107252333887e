package netbox

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// serve is an HTTP server:
//
//	GET  /healthz /readyz /livez   200, or 503 and why
//	POST /fail /ok                 ?what=readyz: from now on, whatever the clock says
//	GET  /env /hostname /headers   what the container and the client look like
//	ANY  /exit?code=N              ends the process
//	GET  /sleep?for=DURATION       answers late
func serve(c *toolbox.Call) int {
	flags := c.Flags("[--port N] [--ready-after DURATION] [--healthy-for DURATION]")
	port := flags.Int("port", 8080, "TCP port")
	address := flags.String("address", "", "IP address to listen on (default all)")
	apply := c.EndingFlags(flags)
	h := healthFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	apply()
	listener, err := net.Listen("tcp", net.JoinHostPort(*address, strconv.Itoa(*port)))
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprintf(c.Stdout, "serving on %s\n", listener.Addr())
	server := &http.Server{Handler: handler(h), ReadHeaderTimeout: 10 * time.Second}
	return c.Fail(1, server.Serve(listener))
}

func handler(h *health) http.Handler {
	mux := http.NewServeMux()
	for _, aspect := range []string{healthz, readyz, livez} {
		mux.HandleFunc("GET /"+aspect, func(w http.ResponseWriter, _ *http.Request) {
			if err := h.is(aspect); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		})
	}
	for path, ok := range map[string]bool{"POST /fail": false, "POST /ok": true} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if err := h.tell(r.URL.Query().Get("what"), ok); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	mux.HandleFunc("GET /env", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.Join(os.Environ(), "\n"))
	})
	mux.HandleFunc("GET /headers", func(w http.ResponseWriter, r *http.Request) { _ = r.Header.Write(w) })
	mux.HandleFunc("GET /hostname", sayHostname)
	mux.HandleFunc("GET /{$}", sayHostname)
	mux.HandleFunc("/exit", exit)
	mux.HandleFunc("GET /sleep", answerLate)
	return mux
}

func sayHostname(w http.ResponseWriter, _ *http.Request) {
	name, err := os.Hostname()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, name)
}

func exit(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.ParseUint(r.URL.Query().Get("code"), 10, 8)
	if err != nil {
		http.Error(w, "want ?code=0 to 255", http.StatusBadRequest)
		return
	}
	// With its length the answer is whole before the process is gone.
	answer := fmt.Sprintf("exit %d\n", code)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	fmt.Fprint(w, answer)
	_ = http.NewResponseController(w).Flush()
	os.Exit(int(code))
}

func answerLate(w http.ResponseWriter, r *http.Request) {
	d, err := time.ParseDuration(r.URL.Query().Get("for"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(d):
		fmt.Fprintln(w, "ok")
	case <-r.Context().Done():
	}
}
