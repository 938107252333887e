package localdriver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// connect is a connection to the controller of a machine.
func (m *machine) connect() *grpc.ClientConn {
	m.t.Helper()
	server, listener := grpc.NewServer(), bufconn.Listen(1<<20)
	m.RegisterController(server)
	go func() { _ = server.Serve(listener) }()
	m.t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///"+m.node, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func newPair(t *testing.T) (a, b *machine) {
	t.Helper()
	a, b = newMachine(t), &machine{t: t, dir: t.TempDir(), node: "node-b"}
	b.restart()
	return a, b
}

func ofVolume(id string) *csi.VolumeContentSource {
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: id}}}
}

func copyRequest(name string, block bool, from *csi.VolumeContentSource) *csi.CreateVolumeRequest {
	return &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: 48 * megabyte}, VolumeCapabilities: []*csi.VolumeCapability{writer(block)}, VolumeContentSource: from,
	}
}

// A volume on one node is a copy of a volume that is used on another, or of its snapshot, and larger.
// What is asked once more is there already, and nothing is left of the copy that was sent.
func TestCopyFromAnotherNode(t *testing.T) {
	a, b := newPair(t)
	from, to := a.connect(), b.connect()
	a.create("a", 32*megabyte, false, nil)
	target := a.use("a", false)
	content := make([]byte, 5*megabyte)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(target, "data"), content)
	snapshot := a.snapshot("s", "a")
	write(t, filepath.Join(target, "later"), []byte("later"))
	deleted, err := os.Create(filepath.Join(target, "deleted")) // and open: this is no damage
	if err != nil {
		t.Fatal(err)
	}
	defer deleted.Close()
	if err := os.Remove(deleted.Name()); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]*csi.VolumeContentSource{"clone": ofVolume(a.id("a")), "restored": snapshot} {
		for range 2 {
			made, err := Copy(t.Context(), from, to, copyRequest(name, false, source))
			if err != nil {
				t.Fatal(err)
			}
			if v := made.GetVolume(); v.GetVolumeId() != "node-b:"+name || v.GetCapacityBytes() != 48*megabyte || v.GetContentSource().String() != source.String() {
				t.Errorf("made %v", v)
			}
		}
		path := b.use(name, false)
		if got, err := os.ReadFile(filepath.Join(path, "data")); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s has other content than its source (%v)", name, err)
		}
		if _, err := os.Stat(filepath.Join(path, "later")); os.IsNotExist(err) != (name == "restored") {
			t.Errorf("%s and what was written after the snapshot: %v", name, err)
		}
		if got := size(t, path); got <= 32*megabyte {
			t.Errorf("the file system of %s has %d bytes", name, got)
		}
	}
	if got := len(b.volumes.list()); got != 2 {
		t.Errorf("%d volumes on the other node, want 2", got)
	}
	if entries, err := os.ReadDir(a.volumes.dir); err != nil || len(entries) != 1 {
		t.Errorf("left on the first node: %v (%v)", entries, err)
	}
	write(t, filepath.Join(target, "thawed"), nil)
}

// breaking is a connection whose streams break after some messages.
type breaking struct {
	grpc.ClientConnInterface
	after int
}

func (c breaking) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := c.ClientConnInterface.NewStream(ctx, d, method, o...)
	return &breakingStream{ClientStream: s, left: c.after}, err
}

type breakingStream struct {
	grpc.ClientStream
	left int
}

func (s *breakingStream) RecvMsg(m any) error {
	if s.left--; s.left < 0 {
		return status.Error(codes.Unavailable, "the network has gone")
	}
	return s.ClientStream.RecvMsg(m)
}

// A copy that was broken off, or can't be made, leaves nothing; the next try makes all of it.
func TestCopyThatFails(t *testing.T) {
	a, b := newPair(t)
	from, to := a.connect(), b.connect()
	a.create("a", 16*megabyte, true, nil)
	write(t, a.volumes.image("a"), bytes.Repeat([]byte("content."), 2*megabyte))
	for name, c := range map[string]struct {
		from grpc.ClientConnInterface
		req  *csi.CreateVolumeRequest
		want codes.Code
	}{
		"broken off":       {breaking{from, 5}, copyRequest("b", true, ofVolume(a.id("a"))), codes.Unavailable},
		"no such source":   {from, copyRequest("b", true, ofVolume(a.id("c"))), codes.NotFound},
		"of another mode":  {from, copyRequest("b", false, ofVolume(a.id("a"))), codes.InvalidArgument},
		"of no other node": {from, copyRequest("b", false, ofVolume(b.id("a"))), codes.NotFound},
		"no source":        {from, copyRequest("b", false, nil), codes.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Copy(t.Context(), c.from, to, c.req); status.Code(err) != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			b.calls.Wait()
			if entries, err := os.ReadDir(b.volumes.dir); err != nil || len(entries) > 0 {
				t.Errorf("left: %v (%v)", entries, err)
			}
		})
	}
	if _, err := Copy(t.Context(), from, to, copyRequest("b", true, ofVolume(a.id("a")))); err != nil {
		t.Fatal(err)
	}
	contains(t, b.volumes.image("b"), strings.Repeat("content.", 1000))
	b.end()
	if _, err := Copy(t.Context(), from, to, copyRequest("c", true, ofVolume(a.id("a")))); status.Code(err) != codes.Unavailable {
		t.Errorf("a copy to a driver that has ended: %v, want Unavailable", err)
	}
}

// saying is a connection whose node says another record than it has.
type saying struct {
	grpc.ClientConnInterface
	record string
}

func (c saying) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := c.ClientConnInterface.NewStream(ctx, d, method, o...)
	return &sayingStream{ClientStream: s, record: c.record}, err
}

type sayingStream struct {
	grpc.ClientStream
	record string
}

func (s *sayingStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if s.record != "" {
		m.(*wrapperspb.BytesValue).Value, s.record = []byte(s.record), ""
	}
	return err
}

// What a node sends that is not possible, or that no kernel is to mount, makes no volume.
func TestCopyFromHostileNode(t *testing.T) {
	a, b := newPair(t)
	from, to := a.connect(), b.connect()
	a.create("a", 32*megabyte, false, nil)
	for name, record := range map[string]string{
		"too large":                       `{"bytes": 9223372036854775807}`,
		"negative":                        `{"bytes": -9223372036854775808}`,
		"a file system of negative size":  `{"bytes": 33554432, "fileSystem": -1}`,
		"a file system beyond the volume": `{"bytes": 33554432, "fileSystem": 9223372036854775807}`,
	} {
		if _, err := Copy(t.Context(), saying{from, record}, to, copyRequest("b", false, ofVolume(a.id("a")))); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: error %v, want InvalidArgument", name, err)
		}
	}
	damage(t, a.volumes.image("a"))
	if _, err := Copy(t.Context(), from, to, copyRequest("b", false, ofVolume(a.id("a")))); status.Code(err) != codes.DataLoss {
		t.Errorf("a damaged file system: error %v, want DataLoss", err)
	}
	b.calls.Wait()
	if entries, err := os.ReadDir(b.volumes.dir); err != nil || len(entries) > 0 {
		t.Errorf("left: %v (%v)", entries, err)
	}
}

// damage has all blocks of an ext4 in use, by what describes them.
func damage(t *testing.T, image string) {
	t.Helper()
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes.Repeat([]byte{0xff}, megabyte), 8192); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// quietStream takes what it is told, and says nothing until ctx ends.
type quietStream struct {
	grpc.ClientStream
	ctx context.Context
}

func (quietStream) SendMsg(any) error { return nil }
func (quietStream) CloseSend() error  { return nil }

func (s quietStream) RecvMsg(any) error {
	<-s.ctx.Done()
	return status.FromContextError(s.ctx.Err()).Err()
}

type quietNode struct{ grpc.ClientConnInterface }

func (quietNode) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return quietStream{ctx: ctx}, nil
}

// A copy of which nothing comes any more ends, and says so.
func TestQuietCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := Copy(t.Context(), quietNode{}, quietNode{}, &csi.CreateVolumeRequest{})
		if took := time.Since(began); !errors.Is(err, errQuiet) || took != quiet {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
