package state

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// answerTimeout is how long an endpoint may take to answer who begins.
const answerTimeout = 4 * time.Second

// Check asks every endpoint, and is content with one that can be used: the others
// may be down just now, and are warned of.
func (p Place) Check(ctx context.Context, log *slog.Logger) error {
	if err := p.Validate(); err != nil {
		return err
	}
	config, err := p.tls()
	if err != nil {
		return err
	}
	errs := make([]error, len(p.Endpoints))
	var asking sync.WaitGroup
	for i, endpoint := range p.Endpoints {
		asking.Go(func() {
			if err := p.ask(ctx, endpoint, config); err != nil {
				errs[i] = fmt.Errorf("etcd at %s: %w", endpoint, p.explain(err, strings.HasPrefix(endpoint, "https:")))
			}
		})
	}
	asking.Wait()
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == len(errs) {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		log.Warn("an endpoint of etcd can't be used", "err", err)
	}
	return nil
}

// ask reads a key, which needs a majority of etcd's members and the right to read.
func (p Place) ask(ctx context.Context, endpoint string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	security := insecure.NewCredentials()
	if u.Scheme == "https" {
		config = config.Clone()
		config.ServerName = u.Hostname()
		security = credentials.NewTLS(config)
	}
	connection, err := grpc.NewClient("passthrough:///"+u.Host, grpc.WithTransportCredentials(security), grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_, err = etcdserverpb.NewKVClient(connection).Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(p.recordKey())})
	return err
}

// explain says which flag an error is about. What went wrong with a connection gRPC
// tells as text only.
func (p Place) explain(err error, secure bool) error {
	text := status.Convert(err).Message()
	if _, cause, ok := strings.Cut(text, `desc = "`); ok {
		text = strings.TrimPrefix(strings.TrimSuffix(cause, `"`), "transport: ")
	}
	contains := func(some ...string) bool {
		return slices.ContainsFunc(some, func(s string) bool { return strings.Contains(text, s) })
	}
	switch code := status.Code(err); {
	case contains("remote error: tls:"), secure && contains("server preface", "broken pipe", "connection reset"):
		// A refusal comes after the handshake, and may be lost with the connection.
		return fmt.Errorf("it does not take %s: %s", p.shown(), text)
	case contains("x509:"):
		return fmt.Errorf("its certificate does not fit %s, or the name in --etcd-endpoints: %s", flag("--etcd-cafile", p.CAFile), text)
	case contains("first record does not look like a TLS handshake"):
		return fmt.Errorf("it does not speak TLS: want http:// in --etcd-endpoints: %s", text)
	case contains("server preface", "broken pipe", "connection reset"):
		return fmt.Errorf("it ends the connection: want https:// in --etcd-endpoints if it speaks TLS: %s", text)
	case code == codes.PermissionDenied, code == codes.Unauthenticated, contains("user name is empty"):
		return fmt.Errorf("the user of --etcd-certfile %s may not read and write %s: %s", p.CertFile, p.prefix(), text)
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("no answer within %v: see --etcd-endpoints, the way there, and whether most of its members run", answerTimeout)
	default:
		return fmt.Errorf("it can't be reached: see --etcd-endpoints: %s", text)
	}
}

func (p Place) shown() string {
	if p.CertFile == "" {
		return "clients without a certificate, --etcd-certfile is missing"
	}
	return "the client certificate of --etcd-certfile " + p.CertFile
}

func flag(name, value string) string {
	if value == "" {
		return "what the machine trusts, " + name + " is missing"
	}
	return name + " " + value
}
