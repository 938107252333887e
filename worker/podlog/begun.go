package podlog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// maxBegun is how much of a line that has no end yet is kept. Readers divide longer ones.
const maxBegun = 1 << 20

// begunPath is a file beside a log, which collectors of logs don't look at. It has the first
// records of lines whose other ones are in the oldest file that is left (B-LOG-1): its first line
// is the stamp of that file.
func begunPath(log string) string {
	return filepath.Join(filepath.Dir(log), "."+filepath.Base(log)+".begun")
}

// KeepBegun keeps the records of lines that a rotated file, which is about to be removed, leaves without
// an end. next is the file in which they go on.
func KeepBegun(log, path, next string) error {
	b := begun{}
	for _, open := range []func() (File, error){
		func() (File, error) { return openBegun(log, path) }, // a line may be longer than a file
		func() (File, error) { return openRotated(path) },
	} {
		file, err := open()
		if err != nil {
			continue // there is none; or its rest stays without its beginning
		}
		err = b.read(file)
		_ = file.File.Close() // only read
		if err != nil {
			return err
		}
	}
	text := slices.Concat(b[string(runtimeapi.Stdout)].text, b[string(runtimeapi.Stderr)].text)
	if len(text) == 0 {
		return nil // what was kept for another file isn't read any more
	}
	return wholefile.WriteMode(begunPath(log), append([]byte(Stamp(log, next)+"\n"), text...), 0o640)
}

// openBegun opens the records that come before the first ones of a rotated file.
func openBegun(log, path string) (File, error) {
	file, err := OpenFile(begunPath(log))
	if err != nil {
		return File{}, err
	}
	stamp := make([]byte, len(StampLayout))
	if _, err := file.ReadAt(stamp, 0); err != nil || string(stamp) != Stamp(log, path) {
		_ = file.Close() // only read
		return File{}, errors.Join(err, errOtherFile)
	}
	return File{Reader: file, File: file}, nil
}

var errOtherFile = errors.New("kept for another file")

// begun are the records of the line that each stream has not ended.
type begun map[string]line

type line struct {
	text []byte
	long bool // it was too much to be kept
}

func (b begun) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, scanned)
	for begins := true; ; {
		record, err := in.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if errors.Is(err, io.EOF) {
			return nil // what has no newline is no record
		}
		if err != nil && !long {
			return err
		}
		if begins {
			b.take(record, long)
		}
		begins = !long
	}
}

// take takes a record, or the beginning of a long one.
func (b begun) take(record []byte, long bool) {
	stream, partial, ok := kindOf(record)
	if !ok {
		return
	}
	l := b[stream]
	switch {
	case !partial:
		l = line{text: l.text[:0]}
	case long || l.long || len(l.text)+len(record) > maxBegun:
		l = line{long: true}
	default:
		l.text = append(l.text, record...)
	}
	b[stream] = l
}

// kindOf is the stream of a record, and whether its line goes on; false if it is no record.
func kindOf(record []byte) (stream string, partial, ok bool) {
	_, rest, _ := bytes.Cut(record, []byte(" "))
	name, rest, found := bytes.Cut(rest, []byte(" "))
	stream = string(name)
	if !found || stream != string(runtimeapi.Stdout) && stream != string(runtimeapi.Stderr) {
		return "", false, false
	}
	return stream, bytes.HasPrefix(rest, []byte(runtimeapi.LogTagPartial+runtimeapi.LogTagDelimiter)) ||
		bytes.HasPrefix(rest, []byte(runtimeapi.LogTagPartial+" ")), true
}
