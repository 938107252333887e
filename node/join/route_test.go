package join

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lifepod/lifepod/internal/assert"
)

// renewal is a node whose server holds requests, and whose certificate is renewed.
type renewal struct {
	*Connection
	t       *testing.T
	write   func(name string)
	begun   chan struct{} // the client has the beginning of an answer
	release chan struct{} // closed: the server answers
	closed  chan struct{} // the server has lost a connection
}

func newRenewal(t *testing.T) *renewal {
	ca := newAuthority(t)
	r := &renewal{t: t, begun: make(chan struct{}, 9), release: make(chan struct{}), closed: make(chan struct{}, 9)}
	server := ca.serveWith(func(w http.ResponseWriter, request *http.Request) {
		_, _ = fmt.Fprint(w, request.TLS.PeerCertificates[0].Subject.CommonName)
		w.(http.Flusher).Flush()
		if request.URL.Path == "/now" {
			return
		}
		select {
		case <-r.release:
			_, _ = fmt.Fprint(w, " to the end")
		case <-request.Context().Done():
		}
	}, func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			r.closed <- struct{}{}
		}
	})
	o := options(t.TempDir())
	r.write = func(name string) {
		pair := ca.sign(name, inAnHour())
		replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificateData: pair, ClientKeyData: pair}))
	}
	r.write("old")
	c := assert.Get(Join(o)).Must(t)
	r.Connection = c
	return r
}

// get asks for a path beside the test, and gives what came of it.
func (r *renewal) get(path string) <-chan string {
	r.t.Helper()
	client := assert.Get(rest.HTTPClientFor(r.Config)).Must(r.t)
	answer := make(chan string, 1)
	go func() {
		response, err := client.Get(r.Config.Host + path)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		name := make([]byte, len("old"))
		if _, err := io.ReadFull(response.Body, name); err != nil {
			answer <- err.Error()
			return
		}
		r.begun <- struct{}{}
		rest, err := io.ReadAll(response.Body)
		if err != nil {
			rest = append(rest, " cut off"...)
		}
		answer <- string(name) + string(rest)
	}()
	return answer
}

func (r *renewal) want(answer <-chan string, want string) {
	r.t.Helper()
	assert.Equal(r.t, want, <-answer, "answer")
}

// TestRequestsUnderWayAreAnswered: new credentials cut no request off, as one for a
// token that a pod waits for. The connection ends with the last of them.
func TestRequestsUnderWayAreAnswered(t *testing.T) {
	r := newRenewal(t)
	first, second := r.get("/first"), r.get("/second")
	<-r.begun
	<-r.begun
	r.write("new")
	r.reload()
	r.want(r.get("/now"), "new")
	close(r.release)
	r.want(first, "old to the end")
	r.want(second, "old to the end")
	<-r.closed
	r.want(r.get("/now"), "new")
}

// TestWatchesEndWithTheirCredentials: in order, so that they go on from where they
// were, though they share a connection with a request that goes on.
func TestWatchesEndWithTheirCredentials(t *testing.T) {
	r := newRenewal(t)
	watch, request := r.get("/pods?watch=true"), r.get("/token")
	<-r.begun
	<-r.begun
	r.write("new")
	r.reload()
	r.want(watch, "old")
	close(r.release)
	r.want(request, "old to the end")
	<-r.closed
}

// TestOldConnectionsEnd: what still goes on after a while is cut off.
func TestOldConnectionsEnd(t *testing.T) {
	r := newRenewal(t)
	r.transport.linger = time.Millisecond
	request := r.get("/slow")
	<-r.begun
	r.write("new")
	r.reload()
	r.want(request, "old cut off")
	<-r.closed
}
