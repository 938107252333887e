package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// The identity of a node: user and group.
const (
	UserPrefix = "system:node:"
	UserGroup  = "system:nodes"
)

// HTTPS reaches nodes by their APIs. Each request has a connection of its own, with the credentials of that time.
type HTTPS struct {
	// TLS has the node's client certificate and the cluster's authorities, as rest.TLSConfigFor gives them: nil without.
	TLS  func() (*tls.Config, error)
	Dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: net.Dialer
}

const (
	dialTimeout = time.Second      // a leader that is off is not waited for
	askTimeout  = 10 * time.Second // a thousand nodes may ask at the same time
)

// ErrNoCertificate is the error of a node that can't show others who it is.
var ErrNoCertificate = errors.New("this node has no client certificate to show to other nodes")

func (h *HTTPS) Join(ctx context.Context, to Peer, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	body, end, err := h.send(ctx, to, joinPath, http.Header{}, io.NopCloser(bytes.NewReader(request)))
	if err != nil {
		return nil, err
	}
	defer end()
	return io.ReadAll(http.MaxBytesReader(nil, body, MaxMessage))
}

func (h *HTTPS) Stream(ctx context.Context, to Peer, request []byte) (Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(askTimeout, cancel)
	up, sent := net.Pipe()
	body, end, err := h.send(ctx, to, streamPath, http.Header{attachHeader: {base64.StdEncoding.EncodeToString(request)}}, sent)
	if late.Stop(); err != nil {
		cancel()
		return nil, err
	}
	return &stream{up, body, func() { cancel(); end() }}, nil
}

// stream is the client's end of one.
type stream struct {
	net.Conn
	from io.Reader
	end  func()
}

func (s *stream) Read(p []byte) (int, error) { return s.from.Read(p) }

func (s *stream) Close() error {
	s.end()
	return s.Conn.Close()
}

// send sends a request by a new connection, which end closes. An answer without success is an error.
func (h *HTTPS) send(ctx context.Context, to Peer, path string, header http.Header, content io.ReadCloser) (body io.ReadCloser, end func(), err error) {
	connection, err := h.connect(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	end = func() { _ = connection.Close() } // what was to come has come
	at := &url.URL{Scheme: "https", Host: to.Address, Path: Path + to.Name + path}
	request := &http.Request{Method: http.MethodPost, URL: at, Header: header, Body: content}
	response, err := connection.RoundTrip(request.WithContext(ctx))
	if err == nil && response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // it is refused, whatever the reason
		err = refuse("%s %s", response.Status, bytes.TrimSpace(text))
		if response.StatusCode == http.StatusMisdirectedRequest {
			err = fmt.Errorf("%s is not where its pod says: %s", to.Name, bytes.TrimSpace(text))
		}
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return response.Body, end, nil
}

// connect connects with a node by HTTP/2.
func (h *HTTPS) connect(ctx context.Context, to Peer) (*http.ClientConn, error) {
	config, err := h.TLS()
	switch {
	case err != nil:
		return nil, err
	case config == nil || len(config.Certificates) == 0 && config.GetClientCertificate == nil:
		return nil, ErrNoCertificate
	case config.RootCAs == nil:
		return nil, errors.New("this node does not know the cluster's certificate authority, to verify other nodes with")
	}
	config = config.Clone()
	config.InsecureSkipVerify = true // it is verified, but not by the address
	config.VerifyConnection = func(s tls.ConnectionState) error { return verify(to.Name, config.RootCAs, s.PeerCertificates) }
	dial := h.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	var only http.Protocols
	only.SetHTTP2(true)
	transport := &http.Transport{TLSClientConfig: config, DialContext: dial, Protocols: &only, DisableCompression: true}
	return transport.NewClientConn(ctx, "https", to.Address)
}

// verify says whether certificates are those of a node's API, signed by the cluster.
func verify(node string, authorities *x509.CertPool, shown []*x509.Certificate) error {
	leaf, between := shown[0], x509.NewCertPool() // a server shows at least one
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	serving := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between, KeyUsages: serving})
	switch {
	case err != nil && bytes.Equal(leaf.RawIssuer, leaf.RawSubject):
		return fmt.Errorf("node %s serves its API with a self-signed certificate (serverTLSBootstrap has the cluster sign it): %w", node, err)
	case err != nil:
		return fmt.Errorf("node %s serves its API with a certificate that can't be verified: %w", node, err)
	case leaf.Subject.CommonName != UserPrefix+node || !slices.Contains(leaf.Subject.Organization, UserGroup):
		return fmt.Errorf("the API is not that of node %s, but of %s", node, leaf.Subject)
	}
	return nil
}
