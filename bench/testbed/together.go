package testbed

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Together does something n times, so many at the same time; the first error is returned, and ends it.
func Together(workers, n int, do func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		all.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = do(i)
			}
			next.Store(int64(n))
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
