package main

import (
	"encoding/json"
	"errors"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// named is an image and the name it is imported under.
type named struct {
	name  string
	image v1.Image
}

// containerdName is the annotation from which containerd takes an image's full
// name at import.
const containerdName = "io.containerd.image.name"

// writeArchive replaces the file at path by an archive of the images.
func writeArchive(path string, images []named) error {
	entries, err := archiveEntries(images)
	if err != nil {
		return err
	}
	content, err := layer(entries)
	if err != nil {
		return err
	}
	return wholefile.WriteMode(path, content, 0o644)
}

// archiveEntries are the files of an OCI image layout, and manifest.json for
// readers of `docker save` archives, which points at the same blobs.
func archiveEntries(images []named) ([]entry, error) {
	blobs := map[v1.Hash][]byte{}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	var saved tarball.Manifest
	for _, n := range images {
		if err := addBlobs(blobs, n.image); err != nil {
			return nil, err
		}
		described, err := describe(n)
		if err != nil {
			return nil, err
		}
		index.Manifests = append(index.Manifests, described)
		listed, err := list(n)
		if err != nil {
			return nil, err
		}
		saved = append(saved, listed)
	}
	indexJSON, err := json.Marshal(index)
	savedJSON, savedErr := json.Marshal(saved)
	if err := errors.Join(err, savedErr); err != nil {
		return nil, err
	}
	entries := []entry{
		folder("blobs", 0o755), folder("blobs/sha256", 0o755),
		file("index.json", 0o644, indexJSON),
		file("manifest.json", 0o644, savedJSON),
		file("oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)),
	}
	for digest, content := range blobs {
		entries = append(entries, file(blobPath(digest), 0o644, content))
	}
	return entries, nil
}

func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// addBlobs adds manifest, config and layers.
func addBlobs(blobs map[v1.Hash][]byte, image v1.Image) error {
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	if blobs[digest], err = image.RawManifest(); err != nil {
		return err
	}
	if digest, err = image.ConfigName(); err != nil {
		return err
	}
	if blobs[digest], err = image.RawConfigFile(); err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		if digest, err = l.Digest(); err != nil {
			return err
		}
		if blobs[digest], err = readLayer(l); err != nil {
			return err
		}
	}
	return nil
}

func readLayer(l v1.Layer) ([]byte, error) {
	content, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

// describe is the image's entry in index.json.
func describe(n named) (v1.Descriptor, error) {
	digest, err := n.image.Digest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	size, err := n.image.Size()
	if err != nil {
		return v1.Descriptor{}, err
	}
	config, err := n.image.ConfigFile()
	if err != nil {
		return v1.Descriptor{}, err
	}
	return v1.Descriptor{
		MediaType: types.OCIManifestSchema1, Digest: digest, Size: size,
		Platform: config.Platform(), Annotations: map[string]string{containerdName: n.name},
	}, nil
}

// list is the image's entry in manifest.json.
func list(n named) (tarball.Descriptor, error) {
	manifest, err := n.image.Manifest()
	if err != nil {
		return tarball.Descriptor{}, err
	}
	listed := tarball.Descriptor{Config: blobPath(manifest.Config.Digest), RepoTags: []string{n.name}}
	for _, l := range manifest.Layers {
		listed.Layers = append(listed.Layers, blobPath(l.Digest))
	}
	return listed, nil
}
