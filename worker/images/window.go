package images

import "time"

// rateWindow is the time over which a rate is measured: it follows a change within seconds,
// and does not jump with each block.
const rateWindow = 5 * time.Second

// window is how many bytes there were at the looks of the last seconds.
type window struct{ samples []sample }

type sample struct {
	elapsed time.Duration // of the pull
	bytes   int64
}

// add notes a look, and returns how many bytes a second have come over the window.
func (w *window) add(elapsed time.Duration, bytes int64) (perSecond int64) {
	w.samples = append(w.samples, sample{elapsed, bytes})
	for len(w.samples) > 2 && elapsed-w.samples[0].elapsed > rateWindow {
		w.samples = w.samples[1:]
	}
	first := w.samples[0]
	seconds := (elapsed - first.elapsed).Seconds()
	if seconds <= 0 || bytes <= first.bytes {
		return 0 // also after a download that began again
	}
	return int64(float64(bytes-first.bytes) / seconds)
}
