package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// ReclaimImages removes all images that nothing uses and that have their minimum age
// (B-GC-7). Call it when the disk is under pressure.
func (c *Collector) ReclaimImages(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config.Log.Info("removing all images that nothing uses")
	_, err := c.free(ctx, func(Disk) int64 { return Everything })
	return err
}

// result is what a collection has come to.
type result struct {
	listed        time.Time // when the images and their uses were asked for
	before, after Disk
	freed         int64 // bytes that became available
	removed       int
	goal          int64     // bytes that were to be available; 0: the disk was not too full
	ripens        time.Time // when the next image may go that is too young; zero: none
}

// short says that the collection did not reach its goal.
func (r result) short() bool { return r.goal > 0 && r.after.Available < r.goal }

// free removes images that are too old and then, until the goal is available, those that
// were used least recently. Needs mu.
func (c *Collector) free(ctx context.Context, goal func(Disk) int64) (r result, err error) {
	r.listed = time.Now()
	all, err := c.list(ctx, r.listed)
	if err != nil {
		return r, err
	}
	defer func() {
		r.ripens = c.config.Policy.Ripens(all, time.Now())
		if err := c.history.save(); err != nil {
			c.config.Log.Warn("an agent after this one won't know which images were used last", "err", err)
		}
		if r.removed > 0 {
			c.config.Claims.changedImages()
		}
	}()
	if r.before, err = c.measure(ctx); err != nil {
		return r, err
	}
	r.after, r.goal = r.before, goal(r.before)
	var failures []error
	for ctx.Err() == nil {
		need := Need{Bytes: max(0, r.goal-r.after.Available), Watched: r.listed.Sub(c.began)}
		image, why, found := c.config.Policy.Choose(all, r.listed, need)
		if !found {
			break
		}
		all = slices.DeleteFunc(all, func(i Image) bool { return i.ID == image.ID })
		removed, err := c.remove(ctx, &image, why, &r)
		if err != nil {
			failures = append(failures, err)
		}
		if removed {
			r.removed++
		}
		if removed && err != nil {
			break // how much is left to free isn't known
		}
	}
	if len(failures) > 0 {
		return r, deletionError(r, failures, c.config.Policy)
	}
	return r, ctx.Err()
}

// deletionError is in upstream's words.
func deletionError(r result, failures []error, p Policy) error {
	if r.goal == 0 {
		return fmt.Errorf("wanted to free images older than %v, encountered errors in image deletion: %w", p.MaxAge, errors.Join(failures...))
	}
	return fmt.Errorf("wanted to free %d bytes, but freed %d bytes space with errors in image deletion: %w", r.goal-r.before.Available, r.freed, errors.Join(failures...))
}

// list are the images, with what is known about their use. Needs mu.
func (c *Collector) list(ctx context.Context, now time.Time) ([]Image, error) {
	answer, err := c.config.Images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the images: %s", cri.Text(err))
	}
	used, err := c.uses.list(ctx)
	if err != nil {
		return nil, err
	}
	asked, pulling, _ := c.config.Claims.state()
	used = append(used, pulling...)
	for _, pod := range c.config.Pods.Using() {
		used = append(used, referencesOf(pod)...)
	}
	all := make([]Image, 0, len(answer.Images))
	present := map[string]bool{}
	for _, i := range answer.Images {
		present[i.Id] = true
		carried := c.config.Carried != nil && slices.ContainsFunc(i.RepoTags, c.config.Carried)
		all = append(all, Image{ID: i.Id, Names: slices.Concat(i.RepoTags, i.RepoDigests), SizeBytes: int64(i.Size), Pinned: i.Pinned || carried})
	}
	markUsed(all, used)
	c.history.see(all, asked, now)
	c.config.Claims.forget(present)
	return all, nil
}

// remove removes one image, unless a pod has come to need it meanwhile, and measures what
// that has freed. Needs mu.
func (c *Collector) remove(ctx context.Context, image *Image, why Reason, r *result) (removed bool, err error) {
	claimed, err := c.config.Claims.remove(image, r.listed, func() error {
		_, err := c.config.Images.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: image.ID}})
		return err
	})
	if claimed {
		return false, nil
	}
	if err != nil {
		c.config.Log.Warn("can't remove an image", "image", image.label(), "err", cri.Text(err))
		return false, fmt.Errorf("remove image %s: %s", image.label(), cri.Text(err))
	}
	delete(c.history.of, image.ID)
	c.Removed.WithLabelValues(string(why)).Inc()
	before := r.after.Available
	disk, err := c.measure(ctx)
	if err != nil {
		return true, err
	}
	r.after = disk
	freed := max(0, r.after.Available-before)
	r.freed += freed
	c.config.Log.Info("removed an image", "image", image.label(), "size", formatSize(image.SizeBytes), "why", image.why(why, r.listed), "freed", formatSize(freed),
		"available", fmt.Sprintf("%s of %s", formatSize(r.after.Available), formatSize(r.after.Capacity)), "rule", "B-GC-7")
	return true, nil
}

// label is how people know the image.
func (i *Image) label() string {
	if len(i.Names) > 0 {
		return i.Names[0]
	}
	return i.ID
}

// why is a removal's reason in words.
func (i *Image) why(reason Reason, now time.Time) string {
	use := "never used since it came " + now.Sub(i.FirstDetected).Round(time.Second).String() + " ago"
	if !i.LastUsed.IsZero() {
		use = "last used " + now.Sub(i.LastUsed).Round(time.Second).String() + " ago"
	}
	if reason == ForAge {
		return use + ", which is more than imageMaximumGCAge"
	}
	return use + ", and the disk needs space"
}

// measure is the disk of the images. A file system without a size is an error.
func (c *Collector) measure(ctx context.Context) (Disk, error) {
	disk, err := c.disk.measure(ctx)
	if err == nil && disk.Capacity == 0 {
		err = errNoCapacity
		c.event("InvalidDiskCapacity", err.Error())
	}
	return disk, err
}

var errNoCapacity = errors.New("invalid capacity 0 on image filesystem")

// shortage is the error of a collection that has not freed enough.
type shortage struct{ result }

// Error is in upstream's words.
func (s shortage) Error() string {
	return fmt.Sprintf("Insufficient free disk space on the node's image filesystem (%d%% of %s used). "+
		"Failed to free sufficient space by deleting unused images (freed %d bytes). "+
		"Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
		s.before.UsedPercent(), formatSize(s.before.Capacity), s.freed)
}

// formatSize is how upstream writes sizes for people.
func formatSize(bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return fmt.Sprintf("%d B", bytes)
	}
	size, suffix := float64(bytes)/unit, "KMGT"
	for size >= unit && len(suffix) > 1 {
		size, suffix = size/unit, strings.TrimPrefix(suffix, suffix[:1])
	}
	return fmt.Sprintf("%.1f %ciB", size, suffix[0])
}
