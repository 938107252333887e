// Package sparsestream takes sparse files over streams of gRPC: their holes cost nothing, and stay
// holes.
package sparsestream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A frame is a part of a file: where it is, in offsetBytes, and what is there; holes have none.
// The last frame is the number of bytes in all others, and nothing else.
const (
	offsetBytes = 8
	frameBytes  = 1 << 20
)

// Send sends what is in a file.
func Send(image *os.File, stream grpc.ServerStream) error {
	sent := int64(0)
	send := func(number int64, data []byte) error {
		return stream.SendMsg(wrapperspb.Bytes(append(binary.BigEndian.AppendUint64(nil, uint64(number)), data...)))
	}
	buffer := make([]byte, frameBytes)
	for at := int64(0); ; {
		data, err := unix.Seek(int(image.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return send(sent, nil) // only a hole is left
		}
		if err != nil {
			return err
		}
		end, err := unix.Seek(int(image.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		part := buffer[:min(end-data, frameBytes)]
		if _, err := image.ReadAt(part, data); err != nil {
			return err
		}
		if err := send(data, part); err != nil {
			return err
		}
		at, sent = data+int64(len(part)), sent+int64(len(part))
	}
}

// Receive makes a file of a size, with what Send has sent: all of it, or there is an error. It is
// broken off when ending is closed.
func Receive(stream grpc.ServerStream, path string, bytes int64, ending <-chan struct{}) error {
	image, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	frames := received(stream)
	err = image.Truncate(bytes)
	for got := int64(0); err == nil; {
		var f frame
		select {
		case <-ending:
			f.err = status.Error(codes.Unavailable, "the receiver ends")
		case <-stream.Context().Done():
			f.err = status.FromContextError(context.Cause(stream.Context())).Err()
		case f = <-frames:
		}
		if f.err != nil {
			err = f.err
			break
		}
		if len(f.data) == 0 {
			if f.number != got {
				err = status.Errorf(codes.DataLoss, "%d bytes came of a file with %d", got, f.number)
			}
			break
		}
		if f.number < 0 || f.number > bytes-int64(len(f.data)) {
			err = status.Errorf(codes.InvalidArgument, "%d bytes at %d of a file with %d", len(f.data), f.number, bytes)
			break
		}
		_, err = image.WriteAt(f.data, f.number)
		got += int64(len(f.data))
	}
	return errors.Join(err, image.Close())
}

type frame struct {
	number int64
	data   []byte
	err    error
}

// received are the frames of a stream until its handler returns, or it has failed.
func received(stream grpc.ServerStream) <-chan frame {
	frames := make(chan frame)
	go func() {
		for failed := false; !failed; {
			f, message := frame{}, new(wrapperspb.BytesValue)
			if f.err = stream.RecvMsg(message); errors.Is(f.err, io.EOF) {
				f.err = status.Error(codes.Aborted, "the copy was broken off")
			}
			if content := message.GetValue(); f.err == nil && len(content) < offsetBytes {
				f.err = fmt.Errorf("a frame of %d bytes", len(content))
			} else if f.err == nil {
				f.number, f.data = int64(binary.BigEndian.Uint64(content)), content[offsetBytes:]
			}
			failed = f.err != nil
			select {
			case frames <- f:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	return frames
}
