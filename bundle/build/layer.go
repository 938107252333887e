package main

import (
	"archive/tar"
	"bytes"
	"slices"
	"strings"
	"time"
)

// built is the time of everything in the images.
var built = time.Unix(0, 0).UTC()

// entry is one file of a layer.
type entry struct {
	header  tar.Header
	content []byte
}

func file(name string, mode int64, content []byte) entry {
	return entry{header: tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}, content: content}
}

func folder(name string, mode int64) entry {
	return entry{header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}}
}

func link(name, target string) entry {
	return entry{header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}}
}

// layer writes the entries as a tar archive, sorted, so that a folder comes
// before what is in it; all belongs to root.
func layer(entries []entry) ([]byte, error) {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.header.Name, b.header.Name) })
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, e := range entries {
		if err := writeEntry(archive, e); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeEntry(archive *tar.Writer, e entry) error {
	e.header.ModTime, e.header.Format = built, tar.FormatUSTAR
	if err := archive.WriteHeader(&e.header); err != nil {
		return err
	}
	_, err := archive.Write(e.content)
	return err
}
