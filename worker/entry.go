package worker

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

const (
	slotSize   = 4 << 20 // the file is sparse: only what is written takes space
	headerSize = 64
	maxData    = slotSize - headerSize
)

// entry is what a slot holds. Its header is text, filled up with blanks:
// sequence number, length and checksum of the data that follow.
type entry struct {
	sequence uint64
	data     []byte
}

// slot is the one that the entry belongs into: not that of the entry before.
func (e entry) slot() int { return int(e.sequence % 2) }

func (e entry) encode() []byte {
	header := fmt.Sprintf("%d %d %08x", e.sequence, len(e.data), crc32.ChecksumIEEE(e.data))
	return append(fmt.Appendf(make([]byte, 0, headerSize+len(e.data)), "%-*s\n", headerSize-1, header), e.data...)
}

// read finds the newest complete entry of a file.
func read(path string) (entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return entry{}, err
	}
	defer func() { _ = file.Close() }() // only read
	var newest entry
	for slot := range int64(2) {
		if e, err := decode(io.NewSectionReader(file, slot*slotSize, slotSize)); err == nil && e.sequence > newest.sequence {
			newest = e
		}
	}
	if newest.sequence == 0 {
		return entry{}, errors.New("the file is damaged")
	}
	return newest, nil
}

func decode(r io.Reader) (entry, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return entry{}, err
	}
	var e entry
	var length int
	var sum uint32
	if _, err := fmt.Sscanf(string(header), "%d %d %x", &e.sequence, &length, &sum); err != nil {
		return entry{}, err
	}
	if length < 0 || length > maxData {
		return entry{}, errors.New("impossible length")
	}
	e.data = make([]byte, length)
	if _, err := io.ReadFull(r, e.data); err != nil {
		return entry{}, err
	}
	if crc32.ChecksumIEEE(e.data) != sum {
		return entry{}, errors.New("wrong checksum")
	}
	return e, nil
}
