package faults

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// fault is what happens to calls of a runtime.
type fault struct {
	methods string  // names between spaces; empty: all
	about   string  // text that the request has, such as a pod's UID; empty: any
	chance  float64 // that it happens to one call
	kind    faultKind
	delay   time.Duration // of late
}

type faultKind int

const (
	late        faultKind = iota // it is carried out after a while
	hung                         // it is carried out when the faults end
	unavailable                  // it is not carried out
	lost                         // it is carried out, and nobody hears of it
)

// criProxy stands between an agent and its runtime, and does to calls what its
// faults say. It knows no messages: calls are carried as they are.
type criProxy struct {
	socket string
	to     *grpc.ClientConn

	mu     sync.Mutex
	lots   *rand.Rand
	faults []fault
	whole  chan struct{} // closed when the faults end
	done   map[faultKind]int
}

// newCRIProxy listens before a runtime, until the end of the test.
func newCRIProxy(t *testing.T, endpoint string) *criProxy {
	t.Helper()
	to, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(1<<26)))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "lp-cri-") // shorter than the test's own
	if err != nil {
		t.Fatal(err)
	}
	p := &criProxy{
		socket: filepath.Join(dir, "cri.sock"), to: to, lots: rand.New(rand.NewPCG(*seed, 5)),
		whole: make(chan struct{}), done: map[faultKind]int{},
	}
	listener, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(p.handle), grpc.MaxRecvMsgSize(1<<26))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it ends with Stop
	t.Cleanup(func() {
		p.end()
		server.Stop()
		serving.Wait()
		_ = to.Close()
		_ = os.RemoveAll(dir)
	})
	return p
}

// begin has faults happen from now on.
func (p *criProxy) begin(faults ...fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.whole = faults, make(chan struct{})
}

// end ends all faults, and lets go on what hangs.
func (p *criProxy) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
	select {
	case <-p.whole:
	default:
		close(p.whole)
	}
}

// draw is what happens to one call; nil: nothing.
func (p *criProxy) draw(method string, request []byte) (*fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		named := f.methods == "" || strings.Contains(" "+f.methods+" ", " "+method+" ")
		if named && bytes.Contains(request, []byte(f.about)) && p.lots.Float64() < f.chance {
			p.done[f.kind]++
			return &p.faults[i], p.whole
		}
	}
	return nil, p.whole
}

// handle carries one call. A request comes first, always: CRI has no stream that
// the runtime begins.
func (p *criProxy) handle(_ any, from grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(from)
	var request []byte
	if err := from.RecvMsg(&request); err != nil {
		return err
	}
	ctx := from.Context()
	f, whole := p.draw(filepath.Base(full), request)
	if f != nil {
		switch f.kind {
		case late:
			whole = nil // only time ends it
			fallthrough
		case hung:
			if err := hold(ctx, f, whole); err != nil {
				return err
			}
		case unavailable:
			return status.Error(codes.Unavailable, "connection error: a fault of the test")
		case lost: // after the call
		}
	}
	err := p.carry(ctx, full, request, from, f != nil && f.kind == lost)
	if f != nil && f.kind == lost {
		return status.Error(codes.Unavailable, "transport is closing: a fault of the test")
	}
	return err
}

// hold holds a call up.
func hold(ctx context.Context, f *fault, whole <-chan struct{}) error {
	var over <-chan time.Time
	if f.kind == late {
		over = time.After(f.delay)
	}
	select {
	case <-over:
	case <-whole:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

// carry has the runtime do what is asked for, and brings its answers back, unless
// they get lost. What the runtime has begun then it ends, too.
func (p *criProxy) carry(ctx context.Context, method string, request []byte, from grpc.ServerStream, mute bool) error {
	if mute {
		ctx = context.WithoutCancel(ctx)
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to, err := p.to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	if err := errors.Join(to.SendMsg(&request), to.CloseSend()); err != nil {
		return err
	}
	for {
		var answer []byte
		if err := to.RecvMsg(&answer); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if mute {
			continue
		}
		if err := from.SendMsg(&answer); err != nil {
			return err
		}
	}
}

// raw is a codec that leaves messages as they are.
type raw struct{}

// Marshal takes *[]byte.
func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

// Unmarshal fills *[]byte.
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

// Name is that of the codec that both ends use.
func (raw) Name() string { return "proto" }
