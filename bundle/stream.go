package bundle

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

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

// errNoSupervisor means that the lock is held and nobody listens: its holder
// has just taken it, or just ended.
var errNoSupervisor = errors.New("the supervisor does not listen yet")

// follow listens to the supervisor until it ends.
func (s *supervisor) follow(ctx context.Context) error {
	conn, err := net.Dial("unix", s.daemon.paths.supervision())
	if err != nil {
		return errNoSupervisor
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	heard, ended := make(chan news), make(chan error, 1)
	go func() { ended <- listen(ctx, conn, heard) }()
	return s.attend(ctx, heard, ended)
}

// listen passes on what the supervisor says until the connection breaks.
func listen(ctx context.Context, conn net.Conn, heard chan<- news) error {
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var n news
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			return fmt.Errorf("listen to the supervisor of containerd: %w", err)
		}
		select {
		case heard <- n:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// attend takes the news. A supervisor that starts containerd says that it
// lives; one that says nothing may be stopped (Ctrl-Z), which the kernel hides:
// it accepts connections in its place. Then containerd is asked itself.
func (s *supervisor) attend(ctx context.Context, heard <-chan news, ended <-chan error) error {
	quiet := time.NewTimer(s.patience.quiet)
	defer quiet.Stop()
	for lastWord := time.Now(); ; {
		select {
		case err := <-ended:
			return err
		case n := <-heard:
			lastWord = time.Now()
			if n.PID == 0 {
				quiet.Reset(s.patience.quiet)
				continue
			}
			quiet.Stop()
			s.answers(n)
		case <-quiet.C:
			if found := s.daemon.answering(ctx, s.patience.quiet); found != nil {
				s.answers(*found)
				continue
			}
			if time.Since(lastWord) >= s.patience.silence {
				s.failed(s.unresponsive())
				lastWord = time.Now()
			}
			quiet.Reset(s.patience.quiet)
		}
	}
}

// unresponsive names the process that has the lock and does nothing with it.
func (s *supervisor) unresponsive() error {
	pid := holder(s.daemon.paths.supervisorLock())
	return fmt.Errorf("process %d, a lifepod that supervises this state folder's runtime, does not answer: if it is suspended, resume it (kill -CONT %[1]d), else end it", pid)
}

// answering is the containerd of the root if it answers within the time, even
// when nobody supervises it.
func (d *daemon) answering(ctx context.Context, within time.Duration) *news {
	found, _, err := d.find()
	if err != nil || found == nil {
		return nil
	}
	defer found.Close()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if d.awaitAnswer(ctx, found) != nil {
		return nil
	}
	return &news{ID: found.ID, Since: time.Now()}
}
