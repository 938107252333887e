package images

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc/metadata"
)

// Progress of a pull under way.
type Progress struct {
	Elapsed time.Duration
	// DoneBytes and TotalBytes of the compressed layers; both 0 when the
	// runtime doesn't tell, or nothing is known yet. Once they are equal the
	// layers are being unpacked.
	DoneBytes  int64
	TotalBytes int64
}

const (
	// criNamespace is containerd's namespace for everything that came by CRI.
	criNamespace = "k8s.io"
	// layerRef starts the name of an ingest of a layer; the digest follows.
	layerRef = "layer-"
	// maxManifestBytes is what containerd accepts as a manifest, too.
	maxManifestBytes = 8 << 20
)

// tracker finds out how far one pull is, from what containerd's content store
// is taking in. Ingests don't say which image they are for; the manifest does,
// which containerd stores first and labels with the repository. So several
// pulls at once are told apart.
type tracker struct {
	content    content.ContentClient
	repository string
	// layers of the manifest being pulled, nil until it is known.
	layers []layer
}

type layer struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	stored bool
}

// observe looks once. Everything that goes wrong means only that less is known.
func (t *tracker) observe(ctx context.Context) Progress {
	if t.content == nil {
		return Progress{}
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", criNamespace)
	arriving, err := t.arriving(ctx)
	if err != nil {
		return Progress{}
	}
	if t.layers == nil && len(arriving) > 0 {
		t.layers = t.findLayers(ctx, arriving)
	}
	return t.sum(ctx, arriving)
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

// findLayers reads the layers of the manifest of this repository that has a
// layer arriving.
func (t *tracker) findLayers(ctx context.Context, arriving map[string]int64) []layer {
	for _, digest := range t.manifests(ctx) {
		layers := t.readLayers(ctx, digest)
		if slices.ContainsFunc(layers, func(l layer) bool {
			_, found := arriving[l.Digest]
			return found
		}) {
			return layers
		}
	}
	return nil
}

// manifests lists what is stored for the repository and refers to a config,
// which is what a manifest does and an index or layer doesn't. The label names
// the registry without its port.
func (t *tracker) manifests(ctx context.Context) []string {
	registry, path := splitLocation(t.repository)
	host, _ := splitPort(registry)
	list, err := t.content.List(ctx, &content.ListContentRequest{Filters: []string{
		`labels."containerd.io/distribution.source.` + strings.Trim(host, "[]") + `"~="(^|,)` + regexp.QuoteMeta(path[1:]) + `(,|$)"`,
	}})
	if err != nil {
		return nil
	}
	var digests []string
	for {
		response, err := list.Recv()
		if err != nil {
			return digests
		}
		for _, info := range response.Info {
			if info.Labels["containerd.io/gc.ref.content.config"] != "" {
				digests = append(digests, info.Digest)
			}
		}
	}
}

func (t *tracker) readLayers(ctx context.Context, digest string) []layer {
	read, err := t.content.Read(ctx, &content.ReadContentRequest{Digest: digest})
	if err != nil {
		return nil
	}
	var raw bytes.Buffer
	for raw.Len() < maxManifestBytes {
		response, err := read.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil
		}
		raw.Write(response.Data)
	}
	var manifest struct {
		Layers []layer `json:"layers"`
	}
	if json.Unmarshal(raw.Bytes(), &manifest) != nil {
		return nil
	}
	return manifest.Layers
}

// sum counts a layer in full once it is stored, and what has arrived before.
func (t *tracker) sum(ctx context.Context, arriving map[string]int64) Progress {
	var progress Progress
	for i := range t.layers {
		l := &t.layers[i]
		progress.TotalBytes += l.Size
		offset, underWay := arriving[l.Digest]
		if !underWay && !l.stored {
			_, err := t.content.Info(ctx, &content.InfoRequest{Digest: l.Digest})
			l.stored = err == nil
		}
		if l.stored {
			offset = l.Size
		}
		progress.DoneBytes += min(offset, l.Size)
	}
	return progress
}
