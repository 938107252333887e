// Package relay stands between an agent and its runtime, and lets a test see each call. It knows no
// messages: calls are carried as they are.
package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// mostBytes is how long a message may be.
const mostBytes = 1 << 26

// Call is one call on its way to the runtime.
type Call struct {
	Method  string // its name, such as RunPodSandbox
	Request []byte // as it is sent

	full  string
	from  grpc.ServerStream
	relay *Relay
}

// Relay listens before a runtime.
type Relay struct {
	socket  string
	to      *grpc.ClientConn
	server  *grpc.Server
	serving sync.WaitGroup
}

// Listen listens until Close. Every call is handled by handle, which has it carried, or not;
// handle is called from many goroutines.
func Listen(endpoint string, handle func(context.Context, Call) error) (r *Relay, err error) {
	dir, err := os.MkdirTemp("", "lp-cri-") // short: so must be the path of a socket
	if err != nil {
		return nil, err
	}
	r = &Relay{socket: filepath.Join(dir, "cri.sock")}
	r.to, err = grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(mostBytes)))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	listener, err := net.Listen("unix", r.socket)
	if err != nil {
		return nil, errors.Join(err, r.to.Close(), os.RemoveAll(dir))
	}
	// A request comes first, always: CRI has no stream that the runtime begins.
	r.server = grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.MaxRecvMsgSize(mostBytes),
		grpc.UnknownServiceHandler(func(_ any, from grpc.ServerStream) error {
			full, _ := grpc.MethodFromServerStream(from)
			call := Call{Method: path.Base(full), full: full, from: from, relay: r}
			if err := from.RecvMsg(&call.Request); err != nil {
				return err
			}
			return handle(from.Context(), call)
		}))
	r.serving.Go(func() { _ = r.server.Serve(listener) }) // it ends with Stop
	return r, nil
}

func (r *Relay) Endpoint() string { return "unix://" + r.socket }

// Close ends all calls, and removes the socket.
func (r *Relay) Close() error {
	r.server.Stop()
	r.serving.Wait()
	return errors.Join(r.to.Close(), os.RemoveAll(filepath.Dir(r.socket)))
}

// Carry has the runtime do what is asked for, and brings its answers back.
func (c Call) Carry(ctx context.Context) error {
	return c.carry(ctx, func(answer []byte) error { return c.from.SendMsg(&answer) })
}

// CarryMute has the runtime do it, even if the caller has given up, and keeps its answers back.
func (c Call) CarryMute(ctx context.Context) error {
	return c.carry(context.WithoutCancel(ctx), func([]byte) error { return nil })
}

func (c Call) carry(ctx context.Context, answered func([]byte) error) error {
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to, err := c.relay.to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.full)
	if err != nil {
		return err
	}
	if err := errors.Join(to.SendMsg(&c.Request), to.CloseSend()); err != nil {
		return err
	}
	for {
		var answer []byte
		if err := to.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := answered(answer); err != nil {
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
