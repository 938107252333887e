package wholefile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// Slots are a file for what changes at each step of a pod: it has two places that are written in turn, so that one of them is always
// complete. A file that is renamed over another costs more. It is open while it is read or written only. Slot and Header say how large
// its places are, in bytes. The file is sparse: only what is written takes space.
type Slots struct{ Slot, Header int }

// Entry is what a slot holds. Its header is text, filled up with blanks: sequence number, length and checksum of the content.
type Entry struct {
	Sequence uint64
	Content  []byte
}

// Slot is the one that the entry belongs into: not that of the entry before.
func (e Entry) Slot() int { return int(e.Sequence % 2) }

// ErrDamaged says that no slot of a file is complete.
var ErrDamaged = errors.New("the file is damaged")

// Write puts the entry into its slot of the file, which need not be there.
func (f Slots) Write(path string, e Entry) error {
	if most := f.Slot - f.Header; len(e.Content) > most {
		return fmt.Errorf("%d bytes are more than %d", len(e.Content), most)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	header := fmt.Sprintf("%d %d %08x", e.Sequence, len(e.Content), crc32.ChecksumIEEE(e.Content))
	block := append(fmt.Appendf(make([]byte, 0, f.Header+len(e.Content)), "%-*s\n", f.Header-1, header), e.Content...)
	_, err = file.WriteAt(block, int64(e.Slot())*int64(f.Slot))
	return errors.Join(err, file.Close())
}

// Read finds the newest complete entry of a file.
func (f Slots) Read(path string) (newest Entry, err error) {
	file, err := os.Open(path)
	if err != nil {
		return Entry{}, err
	}
	defer func() { _ = file.Close() }() // only read
	for slot := range int64(2) {
		if e, ok := f.decode(io.NewSectionReader(file, slot*int64(f.Slot), int64(f.Slot))); ok && e.Sequence > newest.Sequence {
			newest = e
		}
	}
	if newest.Sequence == 0 {
		return Entry{}, ErrDamaged
	}
	return newest, nil
}

func (f Slots) decode(r io.Reader) (e Entry, whole bool) {
	header := make([]byte, f.Header)
	var length int
	var sum uint32
	if _, err := io.ReadFull(r, header); err != nil {
		return Entry{}, false
	}
	if _, err := fmt.Sscanf(string(header), "%d %d %x", &e.Sequence, &length, &sum); err != nil || length < 0 || length > f.Slot-f.Header {
		return Entry{}, false
	}
	e.Content = make([]byte, length)
	_, err := io.ReadFull(r, e.Content)
	return e, err == nil && crc32.ChecksumIEEE(e.Content) == sum
}
