package csi

import (
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// sizes are those that volumes have on this node, as far as they are known.
type sizes struct {
	mu    sync.Mutex
	known map[key]resource.Quantity
}

// of is the size that this agent knows, or that the pod's record has; zero if neither does.
func (s *sizes) of(v volume, recordDir string) resource.Quantity {
	s.mu.Lock()
	known, is := s.known[v.key()]
	s.mu.Unlock()
	if is {
		return known
	}
	r, err := readRecord(recordDir)
	if err != nil {
		return resource.Quantity{}
	}
	bytes, err := strconv.ParseInt(r[keySize], 10, 64)
	if err != nil {
		return resource.Quantity{}
	}
	return *resource.NewQuantity(bytes, resource.BinarySI)
}

func (s *sizes) set(k key, size resource.Quantity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[k] = size
}

func (s *sizes) drop(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, k)
}

// keepSize has the next agent know it, too.
func (p *publishing) keepSize() error {
	r, err := readRecord(p.recordDir())
	if err != nil || r == nil {
		return err
	}
	if size := p.on.sizes.of(p.want, p.recordDir()); !size.IsZero() && r.setSize(size) {
		return writeRecord(p.recordDir(), r)
	}
	return nil
}

// setSize says whether the record had another size.
func (r record) setSize(size resource.Quantity) bool {
	before := strings.TrimRight(r[keySize], " ")
	now := strconv.FormatInt(size.Value(), 10)
	r[keySize] = now + room(sizeDigits-len(now))
	return now != before
}
