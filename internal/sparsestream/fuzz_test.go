package sparsestream

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// frames is what another node sends: each frame is of so many bytes.
type frames struct {
	grpc.ServerStream
	context context.Context
	content []byte
	each    int
}

func (f *frames) Context() context.Context { return f.context }

func (f *frames) RecvMsg(message any) error {
	if len(f.content) == 0 {
		return io.EOF
	}
	n := min(max(f.each, 1), len(f.content))
	message.(*wrapperspb.BytesValue).Value = f.content[:n]
	f.content = f.content[n:]
	return nil
}

// FuzzReceive: whatever another node sends, a file has the size that was said or there is an error, and nothing is outside it.
func FuzzReceive(f *testing.F) {
	at := func(number int64, data string) []byte {
		return append(binary.BigEndian.AppendUint64(nil, uint64(number)), data...)
	}
	f.Add(append(at(0, "12345678"), at(8, "")...), 16, int64(4096))
	f.Add(at(-1, "12345678"), 16, int64(4096))
	f.Add(at(1<<62, "12345678"), 16, int64(1<<62))
	f.Add([]byte("short"), 5, int64(0))
	f.Add(at(0, ""), 8, int64(-1))
	f.Fuzz(func(t *testing.T, content []byte, each int, bytes int64) {
		if bytes > 1<<40 {
			return // the caller bounds it; a file of it takes no room here
		}
		path := filepath.Join(t.TempDir(), "image")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if err := Receive(&frames{context: ctx, content: content, each: each}, path, bytes, nil); err != nil {
			return
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() != bytes {
			t.Fatalf("a file of %d bytes is %v, %v", bytes, info, err)
		}
	})
}
