package ipam

import (
	"fmt"
	"os"
)

// Collect drops the attachments of a network that the runtime doesn't know any
// more, and tells which: CNI GC. The addresses of their pods stay reserved, see the
// package comment; those of containers without a pod are free.
func (s *Store) Collect(network string, valid []Attachment) (dropped []Attachment, err error) {
	known := map[Attachment]bool{}
	for _, a := range valid {
		known[Attachment{Container: a.Container, Interface: a.Interface}] = true
	}
	err = s.each(func(r *record) error {
		before := len(dropped)
		for _, old := range append([]attachment(nil), r.Attachments...) {
			if old.Network != network || known[Attachment{Container: old.Container, Interface: old.Interface}] {
				continue
			}
			a := Attachment{Network: network, Container: old.Container, Interface: old.Interface}
			if r.detach(a) {
				dropped = append(dropped, a)
			}
		}
		if len(dropped) == before {
			return nil
		}
		return s.settle(r)
	})
	return dropped, err
}

// Ready says whether the next ADD of a new pod can succeed: the store can be
// written, and each range has an address that is free or can be reclaimed. The
// error wraps [ErrExhausted] when one has none.
func (s *Store) Ready(ranges []Range) error {
	if err := os.WriteFile(s.recordPath(".new"), []byte("writable\n"), 0o600); err != nil {
		return fmt.Errorf("write to the address store: %w", err)
	}
	links, err := s.links()
	if err != nil {
		return err
	}
	for _, within := range ranges {
		if len(links) < within.Size() {
			continue
		}
		if err := s.available(within); err != nil {
			return err
		}
	}
	return nil
}

// available looks for an address that nobody has or whose owner has no sandbox.
func (s *Store) available(within Range) error {
	address := within.First
	for range within.Size() {
		address = within.next(address)
		free, err := s.free(address)
		if err != nil || free {
			return err
		}
		if r, err := s.read(s.linked(address)); err == nil && !r.live(s.boot) {
			return nil
		}
	}
	return fmt.Errorf("%w: all %d from %s to %s belong to running sandboxes", ErrExhausted, within.Size(), within.First, within.Last)
}
