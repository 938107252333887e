package testbed

import (
	"errors"
	"slices"
)

// Closers end what a benchmark has begun.
type Closers []func() error

// Add adds one: what is needed by others comes before them.
func (c *Closers) Add(f func() error) { *c = append(*c, f) }

// Close calls all, the last first.
func (c *Closers) Close() error {
	var errs []error
	for _, f := range slices.Backward(*c) {
		errs = append(errs, f())
	}
	*c = nil
	return errors.Join(errs...)
}
