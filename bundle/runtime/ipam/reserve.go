package ipam

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
)

// reserve completes the record with an address of the range. The link is in
// place when it returns, the record isn't.
func (s *Store) reserve(r *record, iface string, within Range) (netip.Addr, error) {
	address, kept, err := s.keep(r, iface, within)
	if err != nil || kept {
		return address, err
	}
	if address, err = s.take(within, r.Owner); err == nil {
		r.reserve(address, iface)
	}
	return address, err
}

// keep is the address that the record's owner has in the range. One whose link
// a power failure lost is linked again, unless somebody else has it by now.
func (s *Store) keep(r *record, iface string, within Range) (netip.Addr, bool, error) {
	address, listed := r.address(iface, within)
	if !listed || s.linked(address) == r.Owner {
		return address, listed, nil
	}
	free, err := s.free(address)
	if err != nil || !free {
		return netip.Addr{}, false, err
	}
	return address, true, s.link(address, r.Owner)
}

// take links the next free address to the owner. When there is none, the pod
// that has been without a sandbox for the longest time gives way.
func (s *Store) take(within Range, owner string) (netip.Addr, error) {
	address, err := s.nextFree(within)
	if errors.Is(err, ErrExhausted) {
		if err = s.reclaim(within, owner); err == nil {
			address, err = s.nextFree(within)
		}
	}
	if err != nil {
		return netip.Addr{}, err
	}
	if err := s.link(address, owner); err != nil {
		return netip.Addr{}, fmt.Errorf("reserve %s for %q: %w", address, owner, err)
	}
	s.step("link in place")
	if err := s.writeLastAddress(address); err != nil {
		return netip.Addr{}, fmt.Errorf("reserve %s for %q: %w", address, owner, err)
	}
	s.step("last address written")
	return address, nil
}

// nextFree looks once around the range, from the address handed out last.
func (s *Store) nextFree(within Range) (netip.Addr, error) {
	address := s.lastAddress()
	for range within.Size() {
		address = within.next(address)
		free, err := s.free(address)
		if err != nil {
			return netip.Addr{}, err
		}
		if free {
			return address, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%w: all %d from %s to %s are taken", ErrExhausted, within.Size(), within.First, within.Last)
}

// free says that nobody has the address: no link, or one to a record that
// doesn't list it. What can't be read counts as taken.
func (s *Store) free(address netip.Addr) (bool, error) {
	if _, err := os.Lstat(s.linkPath(address)); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	owner := s.linked(address)
	if !isOwnerName(owner) {
		return false, nil
	}
	r, err := s.read(owner)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case errors.Is(err, errDamaged):
		return false, nil
	case err != nil:
		return false, err
	}
	return !r.holds(address), nil
}

// reclaim releases the one pod that has been without a sandbox for the longest
// time among those with an address in the range. Only one: the others may be
// between two sandboxes.
func (s *Store) reclaim(within Range, but string) error {
	var oldest *record
	err := s.each(func(r *record) error {
		inRange := slices.ContainsFunc(r.Addresses, func(held reservation) bool {
			return within.Contains(held.Address) && s.linked(held.Address) == r.Owner
		})
		if !inRange || r.Owner == but || r.live(s.boot) {
			return nil
		}
		if oldest == nil || r.Changed.Before(oldest.Changed) {
			oldest = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	if oldest == nil {
		return fmt.Errorf("%w: all %d from %s to %s belong to running sandboxes", ErrExhausted, within.Size(), within.First, within.Last)
	}
	return s.remove(oldest)
}

// readOrRebuild is the record of the attachment's owner: as stored, new, or
// put together again from the links when it is damaged.
func (s *Store) readOrRebuild(a Attachment) (*record, error) {
	r, err := s.read(a.owner())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &record{Owner: a.owner()}, nil
	case errors.Is(err, errDamaged):
		return s.rebuild(a.owner(), a.Interface)
	}
	return r, err
}

// rebuild lists every address that is linked to the owner. They are all kept,
// a stale one too: the damaged record can't say which one a sandbox uses.
func (s *Store) rebuild(owner, iface string) (*record, error) {
	links, err := s.links()
	if err != nil {
		return nil, err
	}
	r := &record{Owner: owner}
	for _, address := range links {
		if s.linked(address) == owner {
			r.Addresses = append(r.Addresses, reservation{Address: address, Interface: iface})
		}
	}
	return r, nil
}
