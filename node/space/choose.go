package space

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Policy says when images are removed (imageGCHighThresholdPercent and so on).
type Policy struct {
	// HighPercent of the disk used begins a collection, which ends at LowPercent.
	HighPercent, LowPercent int
	// MinAge is how long an image is here before it may be removed.
	MinAge time.Duration
	// MaxAge is how long an image may be unused, whatever the disk; 0 is no limit.
	MaxAge time.Duration
}

// Off says that images are never removed but on request (B-GC-7).
func (p Policy) Off() bool { return p.HighPercent == 100 && p.MaxAge == 0 }

// Image is an image and what is known about its use.
type Image struct {
	ID        string
	Names     []string // tags and digests
	SizeBytes int64
	Pinned    bool // by the runtime, or carried by lifepod
	Used      bool // by a container, running or dead, or by a pod that will create one

	FirstDetected time.Time
	LastUsed      time.Time // zero if no use was seen
}

// idleSince is when the image was last of use, as far as known: an image that was never
// used has been idle since it came.
func (i *Image) idleSince() time.Time {
	if i.LastUsed.After(i.FirstDetected) {
		return i.LastUsed
	}
	return i.FirstDetected
}

// Reason is why an image is removed, as kubelet_image_garbage_collected_total has it.
type Reason string

// The reasons.
const (
	ForAge   Reason = "age"
	ForSpace Reason = "space"
)

// Need is what a collection has to achieve.
type Need struct {
	// Bytes that are still to be freed. With 0, only images that are too old go.
	Bytes int64
	// Watched is for how long uses have been seen without a gap. Whatever used an
	// image before that is not known, so that no image is too old before it exceeds
	// MaxAge.
	Watched time.Duration
}

// Everything asks for all images that may go.
const Everything = math.MaxInt64

// Choose names the image that is to be removed next, and why (B-GC-7). Images in use and
// pinned ones are never chosen. Those idle for more than MaxAge go first. While bytes are
// needed, the one follows that was used least recently, of several that were never used
// the one that was detected first, if it has been here for MinAge.
func (p Policy) Choose(images []Image, now time.Time, need Need) (chosen Image, why Reason, found bool) {
	order := removable(images)
	if p.MaxAge > 0 && need.Watched > p.MaxAge {
		for _, i := range order {
			if now.Sub(i.idleSince()) > p.MaxAge {
				return i, ForAge, true
			}
		}
	}
	if need.Bytes <= 0 {
		return Image{}, "", false
	}
	for _, i := range order {
		if now.Sub(i.FirstDetected) >= p.MinAge {
			return i, ForSpace, true
		}
	}
	return Image{}, "", false
}

// Ripens is when the next image that may not go yet, for its age, may be removed for
// space; zero if there is none.
func (p Policy) Ripens(images []Image, now time.Time) (at time.Time) {
	for _, i := range removable(images) {
		ripe := i.FirstDetected.Add(p.MinAge)
		if ripe.After(now) && (at.IsZero() || ripe.Before(at)) {
			at = ripe
		}
	}
	return at
}

// removable are the images that nothing uses or pins, least recently used first.
func removable(images []Image) []Image {
	list := slices.DeleteFunc(slices.Clone(images), func(i Image) bool { return i.Used || i.Pinned })
	slices.SortFunc(list, func(a, b Image) int {
		return cmp.Or(a.LastUsed.Compare(b.LastUsed), a.FirstDetected.Compare(b.FirstDetected), strings.Compare(a.ID, b.ID))
	})
	return list
}

// Disk is the state of a file system, in bytes.
type Disk struct{ Capacity, Available int64 }

// UsedPercent is rounded up, as upstream does. The capacity must not be 0.
func (d Disk) UsedPercent() int { return 100 - int(d.Available*100/d.Capacity) }

// Goal is how many bytes should be available after a collection; 0 if the disk is not so
// full that one is needed.
func (p Policy) Goal(d Disk) int64 {
	if d.UsedPercent() < p.HighPercent {
		return 0
	}
	return d.Capacity * int64(100-p.LowPercent) / 100
}

// GoalAfterFull is the goal after pulls have failed in a row for want of space. How much
// the image needs is not known: first a fifth of the disk is freed in addition to what is
// available, then all that can be.
func (p Policy) GoalAfterFull(d Disk, failures int) int64 {
	if failures > 1 {
		return Everything
	}
	return max(p.Goal(d), min(d.Available+d.Capacity/5, d.Capacity))
}
