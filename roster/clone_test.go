package roster

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Clone returns an independent copy.
func (m *Machine) Clone() *Machine {
	c := *m
	c.books = m.books.clone()
	c.heard, c.found, c.effects = maps.Clone(m.heard), maps.Clone(m.found), nil
	c.pods, c.books.order = make(map[types.UID]*pod, len(m.pods)), make(order, len(m.books.order))
	for i, p := range m.books.order {
		copied := *p
		c.pods[p.uid], c.books.order[i] = &copied, &copied
	}
	return &c
}

func (b *books) clone() books {
	return books{
		entries: maps.Clone(b.entries), held: maps.Clone(b.held), idle: maps.Clone(b.idle), asking: maps.Clone(b.asking), until: maps.Clone(b.until),
		open: slices.Clone(b.open), stale: slices.Clone(b.stale), changed: slices.Clone(b.changed), uncounted: maps.Clone(b.uncounted),
	}
}
