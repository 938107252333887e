package space

import (
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// record is what outlives the agent about an image.
type record struct {
	FirstDetected time.Time `json:"firstDetected"`
	LastUsed      time.Time `json:"lastUsed,omitzero"`
}

// history knows since when images are here and when they were last used, by ID. It is
// kept in a file, so that an agent that was started anew still removes the least recently
// used image first, which the kubelet forgets.
type history struct {
	path  string // empty: not kept
	of    map[string]record
	saved map[string]record
}

// openHistory reads what an agent before this one has kept. An unreadable file is as none:
// then all images count as new.
func openHistory(path string, now time.Time) (history, error) {
	h := history{path: path, of: map[string]record{}}
	if path == "" {
		return h, nil
	}
	var kept map[string]record
	if err := wholefile.ReadJSON(path, &kept); err != nil {
		return h, fmt.Errorf("read when images were used: %w", err)
	}
	for id, r := range kept {
		h.of[id] = record{FirstDetected: onClock(r.FirstDetected, now), LastUsed: onClock(r.LastUsed, now)}
	}
	h.saved = maps.Clone(h.of)
	return h, nil
}

// onClock puts a time of the wall clock onto the clock of this process, on which a later
// change of the wall clock makes no image older. A time to come is now.
func onClock(t, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return now.Add(-max(0, now.Sub(t)))
}

// see files which images there are, and which are in use; images that are gone are
// forgotten. It completes the images.
func (h *history) see(images []Image, asked map[string]time.Time, now time.Time) {
	present := make(map[string]record, len(images))
	for i := range images {
		image := &images[i]
		r, known := h.of[image.ID]
		if !known {
			r.FirstDetected = now
			if at := asked[image.ID]; !at.IsZero() { // a pod has had it pulled, or found it, before this look
				r.FirstDetected = at
			}
		}
		if at := asked[image.ID]; at.After(r.LastUsed) {
			r.LastUsed = at
		}
		if image.Used {
			r.LastUsed = now
		}
		image.FirstDetected, image.LastUsed = r.FirstDetected, r.LastUsed
		present[image.ID] = r
	}
	h.of = present
}

// save writes the file if something has changed.
func (h *history) save() error {
	if h.path == "" || maps.Equal(h.of, h.saved) {
		return nil
	}
	err := rootfolder.Ensure(filepath.Dir(h.path), 0o700)
	if err == nil {
		err = wholefile.WriteJSON(h.path, h.of)
	}
	if err != nil {
		return fmt.Errorf("keep when images were used: %w", err)
	}
	h.saved = maps.Clone(h.of)
	return nil
}
