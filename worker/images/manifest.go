package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	content "github.com/containerd/containerd/api/services/content/v1"
)

// maxManifestBytes is what containerd accepts as a manifest, too.
const maxManifestBytes = 8 << 20

// manifest is that of an image, as far as a pull's progress needs it.
type manifest struct {
	Config struct {
		Digest string `json:"digest"`
	} `json:"config"`
	Layers []layer `json:"layers"`
}

// findManifest reads the manifest of this repository that has a layer arriving, or that is
// here whole and not unpacked; nil if there is none.
func (t *tracker) findManifest(ctx context.Context, arriving map[string]int64) *manifest {
	for _, digest := range t.manifests(ctx) {
		m := &manifest{}
		if !t.read(ctx, digest, m) || len(m.Layers) == 0 {
			continue
		}
		if slices.ContainsFunc(m.Layers, func(l layer) bool {
			_, found := arriving[l.Digest]
			return found
		}) {
			return m
		}
		last := &m.Layers[len(m.Layers)-1]
		if t.stored(ctx, last.Digest) == LayerDownloaded && t.chain(ctx, m) && !t.unpacked(ctx, last) {
			return m
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

// read reads JSON from the content store; false if it isn't there.
func (t *tracker) read(ctx context.Context, digest string, into any) bool {
	read, err := t.content.Read(ctx, &content.ReadContentRequest{Digest: digest})
	if err != nil {
		return false
	}
	var raw bytes.Buffer
	for raw.Len() < maxManifestBytes {
		response, err := read.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false
		}
		raw.Write(response.Data)
	}
	return json.Unmarshal(raw.Bytes(), into) == nil
}

// chain finds out under which names the layers are unpacked: a layer's has those before it
// in it. false if it can't be known now.
func (t *tracker) chain(ctx context.Context, m *manifest) bool {
	if m.Layers[0].chainID != "" {
		return true
	}
	var config struct {
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if !t.read(ctx, m.Config.Digest, &config) || len(config.RootFS.DiffIDs) != len(m.Layers) {
		return false
	}
	id := ""
	for i, diff := range config.RootFS.DiffIDs {
		if i == 0 {
			id = diff
		} else {
			id = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id+" "+diff)))
		}
		m.Layers[i].chainID = id
	}
	return true
}
