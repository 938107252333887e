package ipam

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Store is the data folder of the plugin, locked: other processes wait from
// [Open] to [Store.Close]. A Store isn't for concurrent use.
type Store struct {
	dir  string
	lock *os.File
	boot string
	now  func() time.Time
	// step is told each point at which a kill leaves a different state.
	step func(name string)
}

// Attachment is one interface of one sandbox, and the pod it belongs to.
type Attachment struct {
	Network   string
	Container string
	Interface string
	// Pod is the UID; empty when the runtime passes none.
	Pod string
}

func (a Attachment) owner() string {
	if a.Pod == "" {
		return containerOwner + a.Container
	}
	return a.Pod
}

// ErrExhausted says that every address of the range is held by a live sandbox.
var ErrExhausted = errors.New("no free address")

// Open makes the store below dir if needed and locks it.
func Open(dir string) (*Store, error) {
	file, err := lock(dir)
	if err != nil {
		return nil, fmt.Errorf("open the address store: %w", err)
	}
	s := &Store{dir: dir, lock: file, now: time.Now, step: func(string) {}}
	for _, folder := range []string{"pods", "addresses"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, errors.Join(fmt.Errorf("open the address store: %w", err), file.Close())
		}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tell this boot from earlier ones: %w", err), file.Close())
	}
	s.boot = strings.TrimSpace(string(boot))
	return s, nil
}

// Close gives the lock back.
func (s *Store) Close() error { return s.lock.Close() }

// Attach gives the attachment an address of the range: the one that its pod
// has on the interface already, or a free one, which its pod has from now on.
// Called again for the same attachment it gives the same address. The error
// wraps [ErrExhausted] when every address is in use.
func (s *Store) Attach(a Attachment, within Range) (netip.Addr, error) {
	if owner := a.owner(); !isOwnerName(owner) {
		return netip.Addr{}, fmt.Errorf("pod UID or container ID %q can't be a file name", owner)
	}
	r, err := s.readOrRebuild(a)
	if err != nil {
		return netip.Addr{}, err
	}
	address, err := s.reserve(r, a.Interface, within)
	if err != nil {
		return netip.Addr{}, err
	}
	r.attach(attachment{Network: a.Network, Container: a.Container, Interface: a.Interface, Boot: s.boot})
	r.Changed = s.now().UTC()
	if err := s.write(r); err != nil {
		return netip.Addr{}, fmt.Errorf("record the address of %q: %w", r.Owner, err)
	}
	return address, nil
}

// Detach ends an attachment. The addresses of a pod stay its own; those of a
// container without one are free. Nothing known is no error.
func (s *Store) Detach(a Attachment) error {
	r, err := s.find(a)
	if r == nil || err != nil {
		return err
	}
	if !r.detach(a) {
		return nil
	}
	return s.settle(r)
}

// Held gives the address of a live attachment; an invalid one when it isn't known.
func (s *Store) Held(a Attachment, within Range) (netip.Addr, error) {
	r, err := s.read(a.owner())
	if errors.Is(err, fs.ErrNotExist) {
		return netip.Addr{}, nil
	}
	if err != nil {
		return netip.Addr{}, err
	}
	address, listed := r.address(a.Interface, within)
	if !r.detach(a) || !listed || s.linked(address) != r.Owner {
		return netip.Addr{}, nil
	}
	return address, nil
}

// settle writes a record whose attachments changed, or removes it when it
// holds its addresses for nothing any more.
func (s *Store) settle(r *record) error {
	if r.endsWithSandbox() && !r.live(s.boot) {
		return s.remove(r)
	}
	r.Changed = s.now().UTC()
	return s.write(r)
}

// find is the record an attachment is in: that of its owner, or, when the
// runtime tells no pod at DEL, whichever names the container. A damaged record
// is left for the next ADD or release.
func (s *Store) find(a Attachment) (*record, error) {
	if !isOwnerName(a.owner()) {
		return nil, nil
	}
	r, err := s.read(a.owner())
	if errors.Is(err, errDamaged) {
		return nil, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if a.Pod != "" {
		return nil, nil
	}
	var found *record
	err = s.each(func(r *record) error {
		trial := *r
		trial.Attachments = append([]attachment(nil), r.Attachments...)
		if trial.detach(a) {
			found = r
		}
		return nil
	})
	return found, err
}

// each calls visit with every record that can be read.
func (s *Store) each(visit func(*record) error) error {
	owners, err := s.owners()
	if err != nil {
		return err
	}
	for _, owner := range owners {
		r, err := s.read(owner)
		if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}
