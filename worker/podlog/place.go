package podlog

import (
	"cmp"
	"fmt"
)

// Place is where a record ends in its log. Times don't say that: the runtime
// writes the rest of a file that was rotated away while it writes the next one
// already, so that the first records of a file may be older than the last ones
// of the file before, and a clock may be set back (B-LOG-1).
type Place struct {
	File int64 // the first record's time in Unix nanoseconds: a file keeps it when it is renamed and compressed; 0: not known
	End  int64 // bytes of that file up to the record's end
}

// Compare is negative if a record at p was written before one at q.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.End, q.End))
}

// MarshalText implements encoding.TextMarshaler: as many bytes always.
func (p Place) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%019d+%019d", p.File, p.End), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Place) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%d+%d", &p.File, &p.End); err != nil {
		return fmt.Errorf("place %q in a log: %w", text, err)
	}
	return nil
}
