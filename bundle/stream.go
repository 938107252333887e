package bundle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	streamingapi "github.com/containerd/containerd/api/services/streaming/v1"
	"github.com/containerd/containerd/api/types/transfer"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// stream is one of containerd's streams, to which another call refers by id.
type stream struct {
	id     string
	client grpc.BidiStreamingClient[anypb.Any, anypb.Any]
}

// openStream returns when containerd knows the stream.
func openStream(ctx context.Context, client streamingapi.StreamingClient) (*stream, error) {
	opened, err := client.Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	s := &stream{id: "lifepod-" + rand.Text(), client: opened}
	first, err := packAny(&streamingapi.StreamInit{ID: s.id})
	if err != nil {
		return nil, err
	}
	if err := s.client.Send(first); err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	if _, err := s.client.Recv(); err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	return s, nil
}

// chunk is the most bytes of one message.
const chunk = 32 << 10

// send writes all of r to the stream, as fast as the other side asks for it,
// and ends the stream. A stream that the other side closes, because it has
// read all it wants, is no error.
func (s *stream) send(r io.Reader) error {
	buffer := make([]byte, chunk)
	var window int
	for {
		for window <= 0 {
			more, err := s.window()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			window += more
		}
		n, readErr := r.Read(buffer[:min(chunk, window)])
		if n > 0 {
			window -= n
			message, err := packAny(&transfer.Data{Data: buffer[:n]})
			if err != nil {
				return err
			}
			if err := s.client.Send(message); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("send the archive: %w", err)
			}
		}
		if errors.Is(readErr, io.EOF) {
			return s.client.CloseSend()
		}
		if readErr != nil {
			return fmt.Errorf("read the archive: %w", readErr)
		}
	}
}

// receive writes what the other side sends, which sends no more at once than what it was allowed to. It returns with an error only: the
// other side never ends the stream.
func (s *stream) receive(w io.Writer) error {
	for allowed := 0; ; {
		if allowed < chunk {
			message, err := packAny(&transfer.WindowUpdate{Update: 2 * chunk})
			if err != nil {
				return err
			}
			_ = s.client.Send(message) // a stream that has ended says so when it is read
			allowed += 2 * chunk
		}
		message, err := s.client.Recv()
		if err != nil {
			return err
		}
		var data transfer.Data
		if err := unpack(message, &data); err != nil {
			return err
		}
		allowed -= len(data.GetData())
		if _, err := w.Write(data.GetData()); err != nil {
			return err
		}
	}
}

// window waits until the other side takes more bytes, and says how many.
func (s *stream) window() (int, error) {
	message, err := s.client.Recv()
	if err != nil {
		return 0, err
	}
	var update transfer.WindowUpdate
	if err := unpack(message, &update); err != nil {
		return 0, err
	}
	return int(update.GetUpdate()), nil
}

// packAny wraps a message as containerd wants it: its types are named without
// the prefix that anypb gives them.
func packAny(m proto.Message) (*anypb.Any, error) {
	value, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("marshal %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return &anypb.Any{TypeUrl: string(m.ProtoReflect().Descriptor().FullName()), Value: value}, nil
}

func unpack(a *anypb.Any, m proto.Message) error {
	if want := string(m.ProtoReflect().Descriptor().FullName()); a.GetTypeUrl() != want {
		return fmt.Errorf("containerd sent %q on a stream of %q", a.GetTypeUrl(), want)
	}
	return proto.Unmarshal(a.GetValue(), m)
}
