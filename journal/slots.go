//go:build linux

package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lifepod/lifepod/lifecycle"
)

// slots is a file with two places that are written in turn, so that one of them is always
// complete. A file that is renamed over another costs more, and comes for every step. It is
// open while it is written only.
type slots struct {
	path     string
	sequence uint64
	last     []byte // what was written last, but for its time
}

const (
	slotSize   = 256 << 10
	headerSize = 48
)

func (s *slots) open(path string) {
	s.path = path
	if _, sequence, err := readSlots(path); err == nil {
		s.sequence = sequence
	}
}

func (s *slots) write(content []byte) error {
	if len(content) > slotSize-headerSize {
		return fmt.Errorf("%d bytes of what the pod waits for are too many", len(content))
	}
	next := s.sequence + 1
	header := fmt.Sprintf("%d %d %08x", next, len(content), crc32.ChecksumIEEE(content))
	block := append(fmt.Appendf(make([]byte, 0, headerSize+len(content)), "%-*s\n", headerSize-1, header), content...)
	file, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(block, int64(next%2)*slotSize) //nolint:gosec // 0 or 1
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	s.sequence = next
	return nil
}

// readSlots returns what was written last; nil without an error: nothing was.
func readSlots(path string) (content []byte, sequence uint64, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // only read
	for slot := range int64(2) {
		if c, n, err := readSlot(io.NewSectionReader(file, slot*slotSize, slotSize)); err == nil && n > sequence {
			content, sequence = c, n
		}
	}
	return content, sequence, nil
}

var errTorn = errors.New("it was not written whole")

func readSlot(r io.Reader) (content []byte, sequence uint64, err error) {
	block, err := io.ReadAll(r)
	if err != nil || len(block) < headerSize {
		return nil, 0, errors.Join(err, errTorn)
	}
	var length int
	var sum uint32
	if _, err := fmt.Fscanf(bytes.NewReader(block[:headerSize]), "%d %d %x", &sequence, &length, &sum); err != nil {
		return nil, 0, err
	}
	content = block[headerSize:]
	if length < 0 || length > len(content) || crc32.ChecksumIEEE(content[:length]) != sum {
		return nil, 0, errTorn
	}
	return content[:length], sequence, nil
}

// ObjectGone notes that the API server has removed the object of a pod of which nothing is left on the node.
func (f Folder) ObjectGone(uid string) error {
	path := filepath.Join(f.of(uid), nowFile)
	content, sequence, err := readSlots(path)
	var now Now
	if err != nil || json.Unmarshal(content, &now) != nil || now.Stage != lifecycle.Gone.String() || len(now.Waits) == 0 {
		return err
	}
	now.Waits = nil
	if content, err = json.Marshal(now); err != nil {
		return err
	}
	return (&slots{path: path, sequence: sequence}).write(content)
}
