package space

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/assert"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ago is an image that came so many minutes ago, and was last used so many minutes ago;
// less than zero is never.
func ago(id string, detected, used int, changes ...func(*Image)) Image {
	image := Image{ID: id, SizeBytes: 10, FirstDetected: start.Add(-time.Duration(detected) * time.Minute)}
	if used >= 0 {
		image.LastUsed = start.Add(-time.Duration(used) * time.Minute)
	}
	for _, change := range changes {
		change(&image)
	}
	return image
}

func inUse(i *Image)  { i.Used = true }
func pinned(i *Image) { i.Pinned = true }

// Images go for space as upstream has them go: what was never used first, then what was
// used least recently; what is in use, pinned or too young never (B-GC-7).
func TestChoose(t *testing.T) {
	policy := Policy{HighPercent: 85, LowPercent: 80, MinAge: 2 * time.Minute}
	byAge := policy
	byAge.MaxAge = time.Hour
	for name, test := range map[string]struct {
		policy Policy
		images []Image
		need   Need
		want   []string // the order in which they go, with the reasons
	}{
		"nothing is needed":        {policy, []Image{ago("a", 90, 90)}, Need{}, nil},
		"least recently used":      {policy, []Image{ago("new", 90, 1), ago("old", 50, 40), ago("never", 30, -1)}, Need{Bytes: Everything}, []string{"never space", "old space", "new space"}},
		"of the unused the oldest": {policy, []Image{ago("b", 20, -1), ago("a", 30, -1)}, Need{Bytes: Everything}, []string{"a space", "b space"}},
		"in use or pinned":         {policy, []Image{ago("a", 90, 0, inUse), ago("b", 90, 80, pinned)}, Need{Bytes: Everything}, nil},
		"too young":                {policy, []Image{ago("young", 1, -1), ago("old", 2, 1)}, Need{Bytes: Everything}, []string{"old space"}},
		"only as many as needed":   {policy, []Image{ago("a", 90, 80), ago("b", 90, 70), ago("c", 90, 60)}, Need{Bytes: 11}, []string{"a space", "b space"}},
		"too old":                  {byAge, []Image{ago("a", 90, 61), ago("b", 90, 60), ago("c", 90, 99, inUse), ago("d", 61, -1)}, Need{Watched: 2 * time.Hour}, []string{"d age", "a age"}},
		"too old after a start":    {byAge, []Image{ago("a", 90, 61)}, Need{Watched: time.Hour}, nil},
		"first the too old":        {byAge, []Image{ago("never", 30, -1), ago("old", 90, 70)}, Need{Bytes: 11, Watched: 2 * time.Hour}, []string{"old age", "never space"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for image, why := range removals(test.policy, test.images, test.need) {
				got = append(got, image.ID+" "+string(why))
			}
			assert.Deep(t, "removed", test.want, got)
		})
	}
}

// removals are those that follow one another, each freeing the image's size.
func removals(p Policy, images []Image, need Need) func(yield func(Image, Reason) bool) {
	return func(yield func(Image, Reason) bool) {
		images = slices.Clone(images)
		for {
			image, why, found := p.Choose(images, start, need)
			if !found || !yield(image, why) {
				return
			}
			images = slices.DeleteFunc(images, func(i Image) bool { return i.ID == image.ID })
			need.Bytes = max(0, need.Bytes-image.SizeBytes)
		}
	}
}

// Whatever images there are: none goes that is in use, pinned or, for space, too young;
// none goes before one that was used less recently; as many go as are needed, and not one
// more (B-GC-7).
func TestChooseLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := Policy{HighPercent: 85, LowPercent: 80, MinAge: time.Duration(rapid.IntRange(0, 10).Draw(rt, "minimum age")) * time.Minute}
		var images []Image
		removable := int64(0)
		for n := range rapid.IntRange(0, 12).Draw(rt, "images") {
			i := ago(fmt.Sprint(n), rapid.IntRange(0, 20).Draw(rt, "detected"), rapid.IntRange(-1, 20).Draw(rt, "used"))
			i.Used, i.Pinned = rapid.IntRange(0, 3).Draw(rt, "in use") == 0, rapid.IntRange(0, 5).Draw(rt, "pinned") == 0
			i.SizeBytes = rapid.Int64Range(0, 50).Draw(rt, "size")
			if !i.Used && !i.Pinned && start.Sub(i.FirstDetected) >= policy.MinAge {
				removable += i.SizeBytes
			}
			images = append(images, i)
		}
		need := rapid.Int64Range(0, 300).Draw(rt, "need")
		freed, last := int64(0), Image{}
		for i, why := range removals(policy, images, Need{Bytes: need}) {
			switch {
			case why != ForSpace || i.Used || i.Pinned || start.Sub(i.FirstDetected) < policy.MinAge:
				rt.Fatalf("%+v goes for %s", i, why)
			case last.ID != "" && (i.LastUsed.Before(last.LastUsed) || i.LastUsed.Equal(last.LastUsed) && i.FirstDetected.Before(last.FirstDetected)):
				rt.Fatalf("%+v goes after %+v", i, last)
			case freed >= need:
				rt.Fatalf("%+v goes, and enough was free", i)
			}
			freed, last = freed+i.SizeBytes, i
		}
		if freed < min(need, removable) {
			rt.Fatalf("%d bytes were freed, of %d that are needed and %d that could be", freed, need, removable)
		}
	})
}

// A collection begins at the high threshold and ends at the low one (B-GC-7).
func TestGoal(t *testing.T) {
	p := Policy{HighPercent: 85, LowPercent: 80}
	for available, want := range map[int64]int64{1000: 0, 160: 0, 159: 200, 0: 200} {
		assert.Equal(t, want, p.Goal(Disk{Capacity: 1000, Available: available}), "with %d of 1000 available: goal", available)
	}
	assert.Equal(t, 600, p.GoalAfterFull(Disk{Capacity: 1000, Available: 400}, 1), "after the first pull that found the disk full")
	assert.Equal(t, Everything, p.GoalAfterFull(Disk{Capacity: 1000, Available: 400}, 2), "after the second")
}

// The next image ripens when it has its minimum age.
func TestRipens(t *testing.T) {
	p := Policy{MinAge: 10 * time.Minute}
	got := p.Ripens([]Image{ago("old", 11, -1), ago("used", 9, 0, inUse), ago("next", 7, -1), ago("later", 2, -1)}, start)
	want := start.Add(3 * time.Minute)
	assert.True(t, got.Equal(want), "ripens at %v, want %v", got, want)
	got = p.Ripens([]Image{ago("old", 11, -1)}, start)
	assert.True(t, got.IsZero(), "with old images only, one ripens at %v", got)
}
