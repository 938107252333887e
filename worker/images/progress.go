package images

import (
	"fmt"
	"strings"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// Progress of a pull under way.
type Progress struct {
	Elapsed time.Duration
	// DoneBytes and TotalBytes of the compressed layers; both 0 when the
	// runtime doesn't tell, or nothing is known yet. Once they are equal the
	// layers are being unpacked.
	DoneBytes  int64
	TotalBytes int64
	// BytesPerSecond came over the last seconds.
	BytesPerSecond int64
	// Layers in the order of the manifest, in which they are unpacked; nil when TotalBytes is 0.
	Layers []Layer
}

// Layer is how far one layer of an image is.
type Layer struct {
	Digest string     `json:"digest"`
	State  LayerState `json:"state"`
	// DoneBytes and TotalBytes of the compressed layer.
	DoneBytes  int64 `json:"doneBytes"`
	TotalBytes int64 `json:"totalBytes"`
	// BytesPerSecond came over the last seconds.
	BytesPerSecond int64 `json:"bytesPerSecond"`
}

// LayerState is what a layer is at, in the order in which it comes by them.
type LayerState string

// The states of a layer.
const (
	LayerWaiting     LayerState = "waiting"
	LayerDownloading LayerState = "downloading"
	// LayerDownloaded is here and waits for those before it to be unpacked.
	LayerDownloaded LayerState = "downloaded"
	LayerUnpacking  LayerState = "unpacking"
	// LayerUnpacked is done, for this image or for another one that has it, too.
	LayerUnpacked LayerState = "unpacked"
)

// Phase is what a pull is at.
type Phase string

// The phases of a pull.
const (
	// PhaseStarting lasts until the layers are known, to the end if the runtime doesn't tell them.
	PhaseStarting    Phase = "starting"
	PhaseDownloading Phase = "downloading"
	PhaseUnpacking   Phase = "unpacking"
)

// Phase is what the pull is at. Layers are unpacked while later ones are downloaded; it is at
// unpacking once all are here.
func (p Progress) Phase() Phase {
	switch {
	case p.TotalBytes == 0:
		return PhaseStarting
	case p.DoneBytes < p.TotalBytes:
		return PhaseDownloading
	default:
		return PhaseUnpacking
	}
}

// Current is the place in Layers of the one that the pull waits for: of those that are being
// downloaded the one that takes longest at its rate, and once all are here the one that is
// being unpacked; -1 if there is none.
func (p Progress) Current() int {
	current := -1
	for i, l := range p.Layers {
		switch {
		case p.Phase() == PhaseUnpacking:
			if l.State == LayerUnpacking {
				return i
			}
		case l.State == LayerDownloading && (current < 0 || l.slower(&p.Layers[current])):
			current = i
		}
	}
	return current
}

// slower says whether a layer is downloaded later than another. One that gets nothing never is.
func (l *Layer) slower(than *Layer) bool {
	left, other := l.TotalBytes-l.DoneBytes, than.TotalBytes-than.DoneBytes
	if l.BytesPerSecond == 0 || than.BytesPerSecond == 0 {
		return l.BytesPerSecond < than.BytesPerSecond || l.BytesPerSecond == than.BytesPerSecond && left > other
	}
	return float64(left)/float64(l.BytesPerSecond) > float64(other)/float64(than.BytesPerSecond)
}

// String is "45.2 of 120.5 MiB at 4.5 MiB/s, layer 3 of 7", with the layer that the pull waits
// for; empty while nothing is known.
func (p Progress) String() string { return p.in(fmt.Sprintf) }

func (p Progress) in(say lifecycle.Say) string {
	layer := ""
	if i := p.Current(); i >= 0 && len(p.Layers) > 1 {
		layer = say("layer %d of %d", i+1, len(p.Layers))
	}
	switch p.Phase() {
	case PhaseDownloading:
		text := say("%s at %s/s", Share(p.DoneBytes, p.TotalBytes, say), Size(p.BytesPerSecond))
		if layer != "" {
			text += say(", ") + layer
		}
		return text
	case PhaseUnpacking:
		return strings.TrimSpace(say("%s downloaded, unpacking %s", Size(p.TotalBytes), layer))
	default:
		return ""
	}
}

// Pulling is "pulling IMAGE for 10s, 45.2 of 120.5 MiB at 4.5 MiB/s, layer 3 of 7".
func (p Progress) Pulling(image string, say lifecycle.Say) string {
	text := say("pulling %s for %v", image, p.Elapsed.Round(time.Second))
	if how := p.in(say); how != "" {
		text += say(", ") + how
	}
	return text
}

// ShortDigest is as much of a layer's digest as tells it from others, as docker shows it.
func (l *Layer) ShortDigest() string {
	_, digest, _ := strings.Cut(l.Digest, ":")
	return digest[:min(len(digest), 12)]
}

// Size is a number of bytes in the unit that suits it: "4.5 MiB".
func Size(bytes int64) string {
	unit, by := sizeUnit(bytes)
	return number(bytes, by) + " " + unit
}

// Share is how many bytes there are of how many: "45.2 of 120.5 MiB".
func Share(done, total int64, say lifecycle.Say) string {
	unit, by := sizeUnit(total)
	return say("%s of %s %s", number(done, by), number(total, by), unit)
}

func sizeUnit(bytes int64) (unit string, by int64) {
	by = 1
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if bytes < by<<10 {
			return unit, by
		}
		by <<= 10
	}
	return "TiB", by
}

// number has a decimal, but for bytes.
func number(bytes, by int64) string {
	if by == 1 {
		return fmt.Sprint(bytes)
	}
	return fmt.Sprintf("%.1f", float64(bytes)/float64(by))
}
