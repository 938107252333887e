package images

import (
	"cmp"
	"context"
	"path"
	"strings"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// criNamespace is containerd's namespace for everything that came by CRI.
	criNamespace = "k8s.io"
	// layerRef starts the name of an ingest of a layer; the digest follows.
	layerRef = "layer-"
)

// tracker finds out how far one pull is, from what containerd's content store
// is taking in. Ingests don't say which image they are for; the manifest does,
// which containerd stores first and labels with the repository. So several
// pulls at once are told apart.
type tracker struct {
	// immutable
	content         content.ContentClient
	snapshots       snapshots.SnapshotsClient
	findSnapshotter func(context.Context) string // empty if it can't be known now
	repository      string

	// manifest being pulled, nil until it is known.
	manifest *manifest
	// snapshotter keeps what is unpacked; empty until it is known.
	snapshotter string
	// looked is how long the pull had lasted at the last look.
	looked time.Duration
	// all are the bytes of all layers.
	all window
}

// layer is one of the manifest.
type layer struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// chainID is the name of what is unpacked of it, on top of those before it; empty until it
	// is known.
	chainID string
	state   LayerState
	done    int64 // bytes that are here
	came    window
}

// newTracker needs the runtime's containerd; without it nothing but the time is known.
func (s *Store) newTracker(repository string) *tracker {
	t := &tracker{repository: repository, findSnapshotter: s.snapshotter}
	if conn := s.options.Containerd; conn != nil {
		t.content, t.snapshots = content.NewContentClient(conn), snapshots.NewSnapshotsClient(conn)
	}
	return t
}

// snapshotter is the one that keeps unpacked images, of which CRI tells the folder; empty if
// the name isn't in it.
func (s *Store) snapshotter(ctx context.Context) string {
	response, err := s.client.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil || len(response.GetImageFilesystems()) == 0 {
		return ""
	}
	_, name, _ := strings.Cut(path.Base(response.ImageFilesystems[0].GetFsId().GetMountpoint()), "io.containerd.snapshotter.v1.")
	return name
}

// observe looks once; elapsed is how long the pull has lasted. Everything that goes wrong
// means only that less is known.
func (t *tracker) observe(ctx context.Context, elapsed time.Duration) Progress {
	if t.content == nil {
		return Progress{Elapsed: elapsed}
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", criNamespace)
	if arriving, err := t.arriving(ctx); err == nil {
		first := t.manifest == nil
		if first {
			t.manifest = t.findManifest(ctx, arriving)
		}
		if t.manifest != nil {
			t.look(ctx, arriving)
		}
		if first && t.manifest != nil {
			t.begin()
		}
		t.looked = elapsed
	}
	if t.manifest == nil {
		return Progress{Elapsed: elapsed}
	}
	return t.tell(elapsed)
}

// arriving is how many bytes there are of each layer being taken in, by digest.
func (t *tracker) arriving(ctx context.Context) (map[string]int64, error) {
	response, err := t.content.ListStatuses(ctx, &content.ListStatusesRequest{})
	if err != nil {
		return nil, err
	}
	offsets := map[string]int64{}
	for _, ingest := range response.Statuses {
		if digest, found := strings.CutPrefix(ingest.Ref, layerRef); found {
			offsets[digest] = ingest.Offset
		}
	}
	return offsets, nil
}

// look finds out how each layer is. containerd unpacks them in their order; those that it has
// unpacked for another image before, it does not download.
func (t *tracker) look(ctx context.Context, arriving map[string]int64) {
	below := t.chain(ctx, t.manifest) // all before it are unpacked
	for i := range t.manifest.Layers {
		l := &t.manifest.Layers[i]
		offset, underWay := arriving[l.Digest]
		switch {
		case below && (l.state == LayerUnpacked || t.unpacked(ctx, l)):
			l.is(LayerUnpacked)
			continue
		case underWay:
			l.state, l.done = LayerDownloading, min(offset, l.Size)
		default:
			l.is(cmp.Or(t.stored(ctx, l.Digest), l.state, LayerWaiting))
		}
		if below && l.state == LayerDownloaded && t.snapshotter != "" {
			l.state = LayerUnpacking
		}
		below = false
	}
}

// stored is the state of a layer that is not arriving; empty if it can't be known now.
func (t *tracker) stored(ctx context.Context, digest string) LayerState {
	_, err := t.content.Info(ctx, &content.InfoRequest{Digest: digest})
	switch {
	case status.Code(err) == codes.NotFound:
		return LayerWaiting
	case err != nil:
		return ""
	}
	return LayerDownloaded
}

// unpacked says whether a layer is known to be unpacked on top of those before it.
func (t *tracker) unpacked(ctx context.Context, l *layer) bool {
	if t.snapshotter == "" {
		t.snapshotter = t.findSnapshotter(ctx)
	}
	if t.snapshotter == "" {
		return false
	}
	_, err := t.snapshots.Stat(ctx, &snapshots.StatSnapshotRequest{Snapshotter: t.snapshotter, Key: l.chainID})
	return err == nil
}

// is sets the state of a layer that is not arriving: it is here whole or not at all.
func (l *layer) is(state LayerState) {
	l.state = state
	switch state {
	case LayerWaiting:
		l.done = 0
	case LayerDownloading: // what it was at the last look is all that is known
	default:
		l.done = l.Size
	}
}

// begin is called when the layers are seen for the first time: what is arriving has come
// since the look before, what is here whole may have been here before the pull.
func (t *tracker) begin() {
	var here int64
	for i := range t.manifest.Layers {
		l := &t.manifest.Layers[i]
		if l.state == LayerDownloading {
			l.came.add(t.looked, 0)
			continue
		}
		l.came.add(t.looked, l.done)
		here += l.done
	}
	t.all.add(t.looked, here)
}

// tell is what is known of the pull.
func (t *tracker) tell(elapsed time.Duration) Progress {
	progress := Progress{Elapsed: elapsed}
	for i := range t.manifest.Layers {
		l := &t.manifest.Layers[i]
		progress.TotalBytes += l.Size
		progress.DoneBytes += l.done
		progress.Layers = append(progress.Layers, Layer{
			Digest: l.Digest, DoneBytes: l.done, TotalBytes: l.Size, BytesPerSecond: l.came.add(elapsed, l.done), State: l.state,
		})
	}
	progress.BytesPerSecond = t.all.add(elapsed, progress.DoneBytes)
	return progress
}
