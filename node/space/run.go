package space

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// imagePeriod is between two collections when nothing happens, as upstream's.
	imagePeriod = 5 * time.Minute
	// containerPeriod is between two looks for what is left of pods that are gone.
	containerPeriod = time.Minute
	// pullLook is between two looks at the disk while images are pulled.
	pullLook = time.Second
	// firstPause is after a collection that did not free enough, unless a pull has begun or
	// ended, or fills the disk further; it doubles with each one that follows, up to longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
	// fullerBy is the part of the disk by which it is fuller than before.
	fullerBy = 100
)

// Run collects until ctx ends: images every five minutes, and at once when pulls have
// filled the disk; what is left of pods that are gone every minute.
func (c *Collector) Run(ctx context.Context) {
	c.collectContainers(ctx)
	images, containers := time.NewTimer(0), time.NewTicker(containerPeriod)
	defer images.Stop()
	defer containers.Stop()
	if c.config.Policy.Off() {
		c.config.Log.Info("images are not collected, since imageGCHighThresholdPercent is 100 and imageMaximumGCAge is 0")
		images.Stop()
	}
	next := time.Now() // at the latest
	tick := next       // of upstream's
	for {
		select {
		case <-ctx.Done():
			return
		case <-containers.C:
			c.collectContainers(ctx)
			continue
		case <-images.C:
		case <-c.config.Claims.changed:
			c.endPause()
		}
		if c.config.Policy.Off() {
			continue
		}
		if now := time.Now(); !now.Before(next) || c.mustCollect(ctx, now) {
			periodic := !now.Before(tick)
			if periodic {
				tick = now.Add(imagePeriod)
			}
			next = c.collectImages(ctx, periodic)
			if next.After(tick) {
				next = tick
			}
		}
		images.Reset(min(time.Until(next), c.nextLook()))
	}
}

// nextLook is how long to wait before the disk is looked at between two collections.
func (c *Collector) nextLook() time.Duration {
	if _, pulling, _ := c.config.Claims.state(); len(pulling) > 0 {
		return pullLook
	}
	return imagePeriod
}

// mustCollect says that images have to be collected before it is time, because the disk is
// too full or a pull has found it full. It costs a system call.
func (c *Collector) mustCollect(ctx context.Context, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _, full := c.config.Claims.state()
	c.failing.full = min(c.failing.full, full) // a pull has worked meanwhile
	if full > c.failing.full {
		return true
	}
	disk, err := c.measure(ctx)
	if err != nil || c.config.Policy.Goal(disk) == 0 {
		return false
	}
	return !now.Before(c.failing.until) || disk.Available < c.failing.available-disk.Capacity/fullerBy
}

// endPause has the disk looked at although the last collection has not freed enough: a pull has
// begun, which needs space, or ended, and meanwhile pods may have ended that used images.
func (c *Collector) endPause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing.until = time.Time{}
}

// failing is that collections do not free enough.
type failing struct {
	row   int           // periodic collections in a row that have failed
	pause time.Duration // after the last collection that did not free enough; 0: it did
	until time.Time     // the end of that
	full  int           // pulls in a row that found the disk full, as of the last collection
	// available is what the last collection that did not free enough has left, in bytes.
	available int64
}

// collectImages collects images once; next is when to do it again. What goes wrong is reported
// in events as upstream does, and only as often: by its periodic collections.
func (c *Collector) collectImages(ctx context.Context, periodic bool) (next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, end := c.config.Span(ctx, "Images/GarbageCollect")
	defer end()
	_, _, full := c.config.Claims.state()
	r, err := c.free(ctx, func(d Disk) int64 {
		if full > 0 && full != c.failing.full {
			return c.config.Policy.GoalAfterFull(d, full)
		}
		return c.config.Policy.Goal(d)
	})
	now := time.Now()
	c.failing.full = full
	if err == nil && r.goal != Everything && r.short() {
		err = shortage{r}
	}
	if ctx.Err() == nil {
		c.tell(r, err, periodic)
	}
	next = now.Add(imagePeriod)
	if err == nil && !r.short() {
		c.failing.pause = 0
		return next
	}
	c.failing.pause = min(max(2*c.failing.pause, firstPause), longestPause)
	c.failing.until, c.failing.available = now.Add(c.failing.pause), r.after.Available
	if !r.ripens.IsZero() && r.ripens.Before(next) {
		next = slices.MaxFunc([]time.Time{r.ripens, c.failing.until}, time.Time.Compare)
	}
	return next
}

// tell logs what a collection has come to and records the events of a failure (B-GC-7).
func (c *Collector) tell(r result, err error, periodic bool) {
	switch {
	case err == nil:
		if c.failing.row > 0 {
			c.config.Log.Info("the collection of images works again")
		}
		c.failing.row = 0
		if r.removed > 0 {
			c.config.Log.Info("collected images", "removed", r.removed, "freed", formatSize(r.freed),
				"used", r.before.UsedPercent(), "usedNow", r.after.UsedPercent(), "rule", "B-GC-7")
		}
	case periodic:
		c.failing.row++
		c.config.Log.Warn("the collection of images has failed", "times", c.failing.row, "err", err)
		if _, short := errors.AsType[shortage](err); short {
			c.event("FreeDiskSpaceFailed", err.Error())
		}
		if c.failing.row > 1 {
			c.event("ImageGCFailed", err.Error())
		}
	default:
		c.config.Log.Debug("a collection of images has failed", "err", err)
	}
	if errors.Is(err, errNoCapacity) {
		c.disk.path = "" // ask the runtime anew
	}
}
