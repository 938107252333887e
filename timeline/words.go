package timeline

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
)

// Took is a duration as people read it, at most seven characters: 3ms, 820ms, 1.42s, 41.3s, 3m04s,
// 2h07m, 3d04h.
func Took(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Took(-max(d, -math.MaxInt64))
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return "<1ms"
	case d < 999500*time.Microsecond:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + "ms"
	case d < 9995*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + "s"
	case d < 59950*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour-time.Second/2:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour-time.Minute/2:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		d = d.Round(time.Hour)
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// Size is an amount of bytes in units of 1024: 820 B, 4.3 MiB, 12 GiB.
func Size(bytes uint64) string {
	value, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; value >= 999.5 && i < len(units)-1; i++ {
		value /= 1024
	}
	if i == 0 || value >= 9.95 {
		return fmt.Sprintf("%.0f %s", math.Round(value), units[i])
	}
	return fmt.Sprintf("%.1f %s", value, units[i])
}

// percent is a share of a whole, rounded.
func percent(part, whole time.Duration) int {
	if whole <= 0 {
		return 0
	}
	return int(math.Round(100 * float64(part) / float64(whole)))
}

// Detail is what there is to say about a bar besides its label and its times, a line each.
func (b *Bar) Detail(l sentence.Language) (lines []Note) {
	add := func(text string) { lines = append(lines, Note{Text: plain.Line(text)}) }
	if b.Image != "" {
		text := b.Image
		if b.Bytes > 0 {
			text += ", " + Size(b.Bytes)
		}
		add(text)
	}
	if b.Failure != nil {
		said := slices.DeleteFunc([]string{b.Failure.Class, b.Failure.Reason, b.Failure.Message}, func(s string) bool { return s == "" })
		add(strings.Join(said, ": "))
	}
	if b.Exit != nil {
		text := l.Say("exit code %d", b.Exit.Code)
		if b.Exit.Reason != "" {
			text += ", " + b.Exit.Reason
		}
		if b.Exit.Message != "" {
			text += ": " + b.Exit.Message
		}
		add(text)
	}
	for _, n := range b.Notes {
		lines = append(lines, Note{Text: plain.Line(n.Text), Rule: plain.Line(n.Rule)})
	}
	return lines
}

// Name is the bar's step, with which restart it is.
func (b *Bar) Name(l sentence.Language) string {
	if b.Attempt == 0 {
		return l.Word(string(b.Step))
	}
	return l.Say("%s, restart %d", l.Word(string(b.Step)), b.Attempt)
}
