package ipam

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errDamaged is a record whose content can't be trusted: it holds what is
// linked to it.
var errDamaged = errors.New("damaged record")

// lock makes the store's folders if needed and waits for its exclusive lock.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

func (s *Store) recordPath(owner string) string { return filepath.Join(s.dir, "pods", owner) }

func (s *Store) linkPath(address netip.Addr) string {
	return filepath.Join(s.dir, "addresses", address.String())
}

// read gives the record of an owner; fs.ErrNotExist and errDamaged are told apart.
func (s *Store) read(owner string) (*record, error) {
	data, err := os.ReadFile(s.recordPath(owner))
	if err != nil {
		return nil, err
	}
	r, err := decodeRecord(owner, data)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errDamaged, s.recordPath(owner), err)
	}
	return r, nil
}

// write replaces a record in one step, which a kill leaves done or undone. It
// doesn't sync, see the package comment.
func (s *Store) write(r *record) error {
	data, err := r.encode()
	if err != nil {
		return err
	}
	aside := s.recordPath(".new")
	if err := os.WriteFile(aside, data, 0o600); err != nil {
		return err
	}
	s.step("record written aside")
	if err := os.Rename(aside, s.recordPath(r.Owner)); err != nil {
		return err
	}
	s.step("record in place")
	return nil
}

// remove takes the record away, which frees its addresses, then the links.
func (s *Store) remove(r *record) error {
	if err := os.Remove(s.recordPath(r.Owner)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.step("record removed")
	for _, held := range r.Addresses {
		if s.linked(held.Address) == r.Owner {
			if err := os.Remove(s.linkPath(held.Address)); err != nil {
				return err
			}
			s.step("link removed")
		}
	}
	return nil
}

// link points the address at the owner, in one step also where a stale link is.
func (s *Store) link(address netip.Addr, owner string) error {
	target := filepath.Join("..", "pods", owner)
	err := os.Symlink(target, s.linkPath(address))
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	aside := filepath.Join(s.dir, "addresses", ".new")
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, aside); err != nil {
		return err
	}
	s.step("link aside")
	return os.Rename(aside, s.linkPath(address))
}

// linked is the owner that the address points at, "" for none.
func (s *Store) linked(address netip.Addr) string {
	target, err := os.Readlink(s.linkPath(address))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// lastAddress is where the search for a free address goes on. Losing it costs
// nothing but the rest that freed addresses get.
func (s *Store) lastAddress() netip.Addr {
	data, err := os.ReadFile(s.lastPath())
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(strings.TrimSpace(string(data)))
	if err != nil {
		return netip.Addr{}
	}
	return address
}

func (s *Store) writeLastAddress(address netip.Addr) error {
	return os.WriteFile(s.lastPath(), []byte(address.String()+"\n"), 0o600)
}

func (s *Store) lastPath() string { return filepath.Join(s.dir, "last.4") }

// owners lists everyone that has a record.
func (s *Store) owners() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "pods"))
	if err != nil {
		return nil, err
	}
	owners := make([]string, 0, len(entries))
	for _, entry := range entries {
		if isOwnerName(entry.Name()) {
			owners = append(owners, entry.Name())
		}
	}
	return owners, nil
}

// links lists every address that points, or once pointed, at an owner.
func (s *Store) links() ([]netip.Addr, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "addresses"))
	if err != nil {
		return nil, err
	}
	addresses := make([]netip.Addr, 0, len(entries))
	for _, entry := range entries {
		if address, err := netip.ParseAddr(entry.Name()); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

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
// written, and the range has an address that is free or can be reclaimed. The
// error wraps [ErrExhausted] when it has none.
func (s *Store) Ready(within Range) error {
	if err := os.WriteFile(s.recordPath(".new"), []byte("writable\n"), 0o600); err != nil {
		return fmt.Errorf("write to the address store: %w", err)
	}
	links, err := s.links()
	if err != nil {
		return err
	}
	if len(links) < within.Size() {
		return nil
	}
	return s.available(within)
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
