package images

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
)

// contentAt is a content store at one moment, with one manifest of the layers a, b and c, of
// 100, 200 and 300 bytes.
type contentAt struct {
	content.ContentClient
	arriving map[string]int64 // by layer
	here     string           // layers whose content is here
	unpacked string           // layers that are unpacked on top of those before them
	broken   bool             // it doesn't answer about what is here
}

// snapshotsAt has what is unpacked at that moment.
type snapshotsAt struct {
	snapshots.SnapshotsClient
	unpacked string
}

func (s snapshotsAt) Stat(_ context.Context, request *snapshots.StatSnapshotRequest, _ ...grpc.CallOption) (*snapshots.StatSnapshotResponse, error) {
	chain := map[string]string{ // of the diff IDs sha256:1, sha256:2 and sha256:3
		"sha256:1": "a",
		"sha256:86095f8fe4f778dd9cd1eaa8351228c07b0476d1635c04d136b40abfd6fa0fef": "b",
		"sha256:1c52d8701eb6a360c64bbd6f7894be0131ab078cdcf28f957b1abb1c6ccde718": "c",
	}
	if name := chain[request.Key]; request.Snapshotter != "overlayfs" || name == "" || !strings.Contains(s.unpacked, name) {
		return nil, status.Error(codes.NotFound, "none")
	}
	return &snapshots.StatSnapshotResponse{}, nil
}

func (c contentAt) ListStatuses(context.Context, *content.ListStatusesRequest, ...grpc.CallOption) (*content.ListStatusesResponse, error) {
	response := &content.ListStatusesResponse{}
	for name, offset := range c.arriving {
		response.Statuses = append(response.Statuses, &content.Status{Ref: "layer-sha256:" + name, Offset: offset})
	}
	return response, nil
}

func (c contentAt) Info(_ context.Context, request *content.InfoRequest, _ ...grpc.CallOption) (*content.InfoResponse, error) {
	name := strings.TrimPrefix(request.Digest, "sha256:")
	switch {
	case c.broken:
		return nil, status.Error(codes.Unavailable, "later")
	case !strings.Contains(c.here, name):
		return nil, status.Error(codes.NotFound, "none")
	}
	return &content.InfoResponse{Info: &content.Info{Digest: request.Digest}}, nil
}

// sent is a stream of one message.
type sent[T any] struct {
	grpc.ServerStreamingClient[T]
	message *T
}

func (s *sent[T]) Recv() (*T, error) {
	message := s.message
	s.message = nil
	if message == nil {
		return nil, io.EOF
	}
	return message, nil
}

func (contentAt) List(context.Context, *content.ListContentRequest, ...grpc.CallOption) (content.Content_ListClient, error) {
	manifest := &content.Info{Digest: "sha256:m", Labels: map[string]string{"containerd.io/gc.ref.content.config": "sha256:d"}}
	return &sent[content.ListContentResponse]{message: &content.ListContentResponse{Info: []*content.Info{manifest}}}, nil
}

func (contentAt) Read(_ context.Context, request *content.ReadContentRequest, _ ...grpc.CallOption) (content.Content_ReadClient, error) {
	text := map[string]string{
		"sha256:m": `{"config":{"digest":"sha256:d"},"layers":[{"digest":"sha256:a","size":100},{"digest":"sha256:b","size":200},{"digest":"sha256:c","size":300}]}`,
		"sha256:d": `{"rootfs":{"diff_ids":["sha256:1","sha256:2","sha256:3"]}}`,
	}[request.Digest]
	return &sent[content.ReadContentResponse]{message: &content.ReadContentResponse{Data: []byte(text)}}, nil
}

// TestTracker: a look each second at a pull.
func TestTracker(t *testing.T) {
	type arriving = map[string]int64
	for name, tc := range map[string]struct {
		looks []contentAt
		want  []string
	}{
		"from the first byte to the last layer": {
			[]contentAt{
				{},
				{arriving: arriving{"a": 10, "b": 20}},
				{arriving: arriving{"b": 120}, here: "a"},
				{arriving: arriving{"c": 100}, here: "ab", unpacked: "a"},
				{here: "abc", unpacked: "a"},
				{here: "abc", unpacked: "ab"},
				{here: "abc", unpacked: "abc"},
			},
			[]string{
				"starting",
				"downloading 30 of 600 at 30: downloading 10, downloading 20, waiting 0; layer 1",
				"downloading 220 of 600 at 110: unpacking 100, downloading 120, waiting 0; layer 2",
				"downloading 400 of 600 at 133: unpacked 100, unpacking 200, downloading 100; layer 3",
				"unpacking 600 of 600 at 150: unpacked 100, unpacking 200, downloaded 300; layer 2",
				"unpacking 600 of 600 at 120: unpacked 100, unpacked 200, unpacking 300; layer 3",
				"unpacking 600 of 600 at 114: unpacked 100, unpacked 200, unpacked 300; layer 0",
			},
		},
		"what was unpacked before is not downloaded, and not in the rate": {
			[]contentAt{{arriving: arriving{"c": 50}, here: "b", unpacked: "ab"}, {arriving: arriving{"c": 50}, unpacked: "ab"}},
			[]string{
				"downloading 350 of 600 at 50: unpacked 100, unpacked 200, downloading 50; layer 3",
				"downloading 350 of 600 at 25: unpacked 100, unpacked 200, downloading 50; layer 3",
			},
		},
		"a layer that another image has, too": {
			[]contentAt{{arriving: arriving{"a": 1}, here: "c"}},
			[]string{"downloading 301 of 600 at 1: downloading 1, waiting 0, downloaded 300; layer 1"},
		},
		"downloaded before the first look": {
			[]contentAt{{here: "abc"}},
			[]string{"unpacking 600 of 600 at 0: unpacking 100, downloaded 200, downloaded 300; layer 1"},
		},
		"an image that is here whole is another one": {[]contentAt{{here: "abc", unpacked: "abc"}}, []string{"starting"}},
		"no answer for a while": {
			[]contentAt{{arriving: arriving{"a": 60}}, {broken: true}, {here: "a"}},
			[]string{
				"downloading 60 of 600 at 60: downloading 60, waiting 0, waiting 0; layer 1",
				"downloading 60 of 600 at 30: downloading 60, waiting 0, waiting 0; layer 1",
				"downloading 100 of 600 at 33: unpacking 100, waiting 0, waiting 0; layer 0",
			},
		},
	} {
		tracker := &tracker{repository: "r.io/app", findSnapshotter: func(context.Context) string { return "overlayfs" }}
		var got []string
		for i, look := range tc.looks {
			tracker.content, tracker.snapshots = look, snapshotsAt{unpacked: look.unpacked}
			p := tracker.observe(t.Context(), time.Duration(i+1)*time.Second)
			text := string(p.Phase())
			if p.Layers != nil {
				var layers []string
				for _, l := range p.Layers {
					layers = append(layers, fmt.Sprintf("%s %d", l.State, l.DoneBytes))
				}
				text += fmt.Sprintf(" %d of %d at %d: %s; layer %d", p.DoneBytes, p.TotalBytes, p.BytesPerSecond, strings.Join(layers, ", "), p.Current()+1)
			}
			got = append(got, text)
		}
		assert.Deep(t, name, tc.want, got)
	}
}
