package space

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/worker/images"
)

// Claims are the images of a node as its pods' workers see them (worker.Images). It knows
// which images pods have just looked at or pull, so that none of them is removed.
type Claims struct {
	*images.Store
	changedImages func() // images have come or gone

	mu       sync.Mutex
	asked    map[string]time.Time     // by ID: when a pod was last told that the image is present
	removing map[string]chan struct{} // by ID: closed when the removal is over
	looks    int                      // inspections under way
	removed  map[string]int           // by ID: how many removals had ended by then; since some look began
	removals int                      // that have ended
	pulling  map[string]int           // by reference: pulls under way
	full     int                      // pulls in a row that failed for want of space
	changed  mailbox.Signal           // the disk may have changed
}

// NewClaims are those of the workers that use the store. changedImages is called when images have
// come or gone.
func NewClaims(store *images.Store, changedImages func()) *Claims {
	return &Claims{
		Store: store, changedImages: changedImages,
		asked: map[string]time.Time{}, removing: map[string]chan struct{}{}, removed: map[string]int{}, pulling: map[string]int{},
		changed: mailbox.NewSignal(),
	}
}

// Inspect inspects as the Store does. An image that it finds is not removed before the
// pod's container has been created, or the pod has ended.
func (c *Claims) Inspect(ctx context.Context, image string) (*images.Image, error) {
	c.mu.Lock()
	c.looks++
	c.mu.Unlock()
	defer c.lookEnded()
	for {
		c.mu.Lock()
		began := c.removals
		c.mu.Unlock()
		found, err := c.Store.Inspect(ctx, image)
		if err != nil || found == nil || c.claim(ctx, found.ID, began) {
			return found, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// claim files that an image was found by a look that began after so many removals. It
// reports whether the image is still there: else it has to be looked for again.
func (c *Claims) claim(ctx context.Context, id string, began int) bool {
	c.mu.Lock()
	over, removes := c.removing[id]
	gone := removes || c.removed[id] > began
	if !gone {
		c.asked[id] = time.Now()
	}
	c.mu.Unlock()
	if removes {
		select {
		case <-over:
		case <-ctx.Done():
		}
	}
	return !gone
}

func (c *Claims) lookEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks--; c.looks == 0 {
		clear(c.removed)
	}
}

// Pull pulls as the Store does.
func (c *Claims) Pull(ctx context.Context, request images.PullRequest) (*images.Pulled, error) {
	c.mu.Lock()
	c.pulling[request.Image]++
	c.mu.Unlock()
	c.changed.Send()
	pulled, err := c.Store.Pull(ctx, request)
	c.mu.Lock()
	if c.pulling[request.Image]--; c.pulling[request.Image] == 0 {
		delete(c.pulling, request.Image)
	}
	switch {
	case err == nil:
		c.asked[pulled.ID], c.full = time.Now(), 0
	case isFull(err):
		c.full++
	}
	c.mu.Unlock()
	c.changed.Send()
	if err == nil {
		c.changedImages()
	}
	return pulled, err
}

// isFull says that a pull failed because the disk is full. What a runtime says of it has
// come as text.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

// state is what pods have claimed: when which image was asked for, by ID, and the
// references that are being pulled; and how many pulls in a row found the disk full.
func (c *Claims) state() (asked map[string]time.Time, pulling []string, full int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for reference := range c.pulling {
		pulling = append(pulling, reference)
	}
	return maps.Clone(c.asked), pulling, c.full
}

// forget drops what is known of images that are gone.
func (c *Claims) forget(present map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.asked, func(id string, _ time.Time) bool { return !present[id] })
}

// remove removes an image, unless a pod has asked for it since its uses were listed.
func (c *Claims) remove(image *Image, listed time.Time, do func() error) (claimed bool, err error) {
	c.mu.Lock()
	_, removes := c.removing[image.ID]
	if removes || !c.asked[image.ID].Before(listed) || c.pullsNamed(image.Names) {
		c.mu.Unlock()
		return true, nil
	}
	over := make(chan struct{})
	c.removing[image.ID] = over
	c.mu.Unlock()
	err = do()
	c.mu.Lock()
	delete(c.removing, image.ID)
	delete(c.asked, image.ID)
	c.removals++
	if c.looks > 0 {
		c.removed[image.ID] = c.removals
	}
	c.mu.Unlock()
	close(over)
	return false, err
}

// pullsNamed says that one of the names is being pulled; needs mu.
func (c *Claims) pullsNamed(names []string) bool {
	for reference := range c.pulling {
		if named(reference, names) {
			return true
		}
	}
	return false
}
