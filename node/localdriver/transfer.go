package localdriver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/lifepod/lifepod/internal/sparsestream"
)

// CSI has no way for a volume to be a copy of what is on another node. This service has: whoever
// may call the controllers of both nodes takes the content from one (Send) and gives it to the
// other (Receive), which makes a volume of it.
const copyService = "lifepod.v1.VolumeCopies"

var copies = grpc.ServiceDesc{
	ServiceName: copyService,
	HandlerType: (*copier)(nil),
	Streams: []grpc.StreamDesc{
		{StreamName: "Send", ServerStreams: true, Handler: func(d any, stream grpc.ServerStream) error { return d.(copier).send(stream) }},
		{StreamName: "Receive", ClientStreams: true, Handler: func(d any, stream grpc.ServerStream) error { return d.(copier).receive(stream) }},
	},
}

type copier interface {
	// send is asked with a csi.VolumeContentSource, and answers with the record of the
	// source and then the frames of its image.
	send(stream grpc.ServerStream) error
	// receive is asked with a csi.CreateVolumeRequest and with all that Send answers, and
	// answers with a csi.CreateVolumeResponse.
	receive(stream grpc.ServerStream) error
}

// quiet is how long a copy may take between two messages: its end is that all is on the disk.
const quiet = 10 * time.Minute

var errQuiet = status.Errorf(codes.DeadlineExceeded, "nothing came of the copy for %v", quiet)

// Copy makes a volume as a request says whose source is on another node: from has the source, to is
// to have the volume. It takes as long as the data is much, and ends when ctx does.
func Copy(ctx context.Context, from, to grpc.ClientConnInterface, req *csi.CreateVolumeRequest) (made *csi.CreateVolumeResponse, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // ends what is left of the streams
	late := time.AfterFunc(quiet, func() { cancel(errQuiet) })
	defer late.Stop()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errQuiet) {
			err = errQuiet
		}
	}()
	source, err := from.NewStream(ctx, &copies.Streams[0], "/"+copyService+"/Send")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(source.SendMsg(req.GetVolumeContentSource()), source.CloseSend()); err != nil {
		return nil, err
	}
	target, err := to.NewStream(ctx, &copies.Streams[1], "/"+copyService+"/Receive")
	if err != nil {
		return nil, err
	}
	question, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	for message := wrapperspb.Bytes(question); ; {
		if err := target.SendMsg(message); err != nil {
			break // the answer says why
		}
		late.Reset(quiet)
		message = new(wrapperspb.BytesValue)
		err := source.RecvMsg(message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if err := target.CloseSend(); err != nil {
		return nil, err
	}
	answer := new(csi.CreateVolumeResponse)
	return answer, target.RecvMsg(answer)
}

func (d *Driver) send(stream grpc.ServerStream) error {
	asked := new(csi.VolumeContentSource)
	if err := stream.RecvMsg(asked); err != nil {
		return err
	}
	source, image, err := d.still(asked)
	if err != nil {
		return internal("send", sourceID(asked), err)
	}
	defer image.Close()
	header, err := json.Marshal(source)
	if err == nil {
		err = stream.SendMsg(wrapperspb.Bytes(header))
	}
	if err == nil {
		err = sparsestream.Send(image, stream)
	}
	if err != nil {
		return internal("send", sourceID(asked), err)
	}
	return nil
}

func sourceID(source *csi.VolumeContentSource) string {
	if id := source.GetSnapshot().GetSnapshotId(); id != "" {
		return id
	}
	return source.GetVolume().GetVolumeId()
}

// still is the image of a source as it is now, whatever happens to that meanwhile.
func (d *Driver) still(asked *csi.VolumeContentSource) (source record, image *os.File, err error) {
	var volume, snapshot string
	if snapshot, err = d.given("snapshot", asked.GetSnapshot().GetSnapshotId()); err != nil {
		return source, nil, err
	}
	if volume, err = d.given("volume", asked.GetVolume().GetVolumeId()); err != nil {
		return source, nil, err
	}
	end, err := d.begin(thing{volume: volume}, thing{snapshot: snapshot})
	if err != nil {
		return source, nil, err
	}
	defer end()
	if snapshot != "" {
		if source, err = d.snapshots.get("snapshot", snapshot); err != nil {
			return source, nil, err
		}
		image, err = os.Open(d.snapshots.image(snapshot))
		return source, image, err
	}
	if source, err = d.volumes.get("volume", volume); err != nil {
		return source, nil, err
	}
	image, err = d.copyOf(source)
	return source, image, err
}

// copyOf is a copy of a volume without a name, which is gone when it is closed: a volume is frozen
// for as long as a copy on its disk takes, not for as long as the network does.
func (d *Driver) copyOf(source record) (*os.File, error) {
	release, err := d.reserve(allocated(d.volumes.image(source.ID)))
	if err != nil {
		return nil, err
	}
	defer release() // it takes up its room by then
	path := filepath.Join(d.volumes.dir, unfinished+".send-"+source.ID)
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	err = d.copyFrom(source, true, path, &record{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	image, err := os.Open(path)
	return image, errors.Join(err, os.Remove(path))
}

func (d *Driver) receive(stream grpc.ServerStream) error {
	question, header := new(wrapperspb.BytesValue), new(wrapperspb.BytesValue)
	if err := stream.RecvMsg(question); err != nil {
		return err
	}
	req, from := new(csi.CreateVolumeRequest), origin{}
	if err := proto.Unmarshal(question.GetValue(), req); err != nil {
		return status.Errorf(codes.InvalidArgument, "request: %v", err)
	}
	want, err := d.asked(req)
	if err != nil {
		return err
	}
	want.FromSnapshot, want.FromVolume = req.GetVolumeContentSource().GetSnapshot().GetSnapshotId(), req.GetVolumeContentSource().GetVolume().GetVolumeId()
	if node, err := NodeOf(want.FromSnapshot + want.FromVolume); err != nil || node == d.config.Node {
		return status.Errorf(codes.InvalidArgument, "source %q is not of another node than %q", want.FromSnapshot+want.FromVolume, d.config.Node)
	}
	made, err := d.makeOnce(want, req, func() (origin, error) {
		if err := stream.RecvMsg(header); err != nil {
			return from, err
		}
		if err := json.Unmarshal(header.GetValue(), &from.record); err != nil {
			return from, status.Errorf(codes.InvalidArgument, "record of the source: %v", err)
		}
		if from.Bytes < 0 || from.Bytes > largest || from.FileSystem < 0 || from.FileSystem > from.Bytes {
			return from, status.Errorf(codes.InvalidArgument, "record of the source: %d bytes with a file system of %d are not possible", from.Bytes, from.FileSystem)
		}
		from.fill = func(path string, _ *record) error {
			return receiveImage(stream, path, from.record, d.ending)
		}
		return from, nil
	})
	if err != nil {
		return err
	}
	return stream.SendMsg(made)
}

// receiveImage makes the image of what comes from another node, which the kernel mounts only if its file system is right.
func receiveImage(stream grpc.ServerStream, path string, from record, ending <-chan struct{}) error {
	if err := sparsestream.Receive(stream, path, from.Bytes, ending); err != nil || from.Block {
		return err
	}
	if err := mend(path); err != nil {
		return status.Errorf(codes.DataLoss, "the file system that came from the other node is damaged: %v", err)
	}
	return nil
}
