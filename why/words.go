package why

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clock is a time as people read it, in now's time zone: the date only if it is another day.
func (t *explainer) clock(at time.Time) string {
	at = at.In(t.now.Location())
	if at.Format(time.DateOnly) == t.now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

// clockOf is clock of a time that may be zero; it is empty then.
func (t *explainer) clockOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return t.clock(at)
}

// lasting is how long something has been so, as "for 12 s"; empty if it is zero or less than a second.
func (t *explainer) lasting(since time.Time) string {
	if d := t.now.Sub(since); !since.IsZero() && d >= time.Second {
		return " for " + span(d)
	}
	return ""
}

// soFar is how long something has been going on, as ", for 12 s now"; empty if that is less than a
// second.
func (t *explainer) soFar(since time.Time) string {
	return ifSome(",", ifSome2(t.lasting(since), " now"))
}

// when says when something comes: "12:04:31, in 8 s".
func (t *explainer) when(until time.Time) string {
	left := until.Sub(t.now)
	switch {
	case left >= time.Second:
		return t.clock(until) + ", in " + span(left)
	case left > -time.Second:
		return t.clock(until) + ", now"
	}
	return t.clock(until) + ", " + span(-left) + " ago"
}

// span is a duration in the two largest units that it has: 8 s, 2 min 5 s, 3 d 4 h.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		tenths := d.Round(100 * time.Millisecond)
		return strconv.FormatFloat(tenths.Seconds(), 'f', -1, 64) + " s"
	case d < time.Minute-time.Second/2:
		return whole(d, seconds)
	case d < time.Hour-time.Second/2:
		return pair(d.Round(time.Second), minutes, seconds)
	case d < 24*time.Hour-time.Minute/2:
		return pair(d.Round(time.Minute), hours, minutes)
	}
	return pair(d.Round(time.Hour), days, hours)
}

// unit is one of time.
type unit struct {
	size time.Duration
	name string
}

var (
	seconds = unit{time.Second, "s"}
	minutes = unit{time.Minute, "min"}
	hours   = unit{time.Hour, "h"}
	days    = unit{24 * time.Hour, "d"}
)

func whole(d time.Duration, in unit) string {
	return strconv.FormatInt(int64(d.Round(in.size)/in.size), 10) + " " + in.name
}

func pair(d time.Duration, large, small unit) string {
	text := strconv.FormatInt(int64(d/large.size), 10) + " " + large.name
	if rest := d % large.size / small.size; rest > 0 {
		text += " " + strconv.FormatInt(int64(rest), 10) + " " + small.name
	}
	return text
}

// bytes is an amount of memory in the units of Kubernetes.
func bytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size {
			return strconv.FormatFloat(float64(n*10/unit.size)/10, 'f', -1, 64) + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// list is names in a sentence: "a", "a and b", "a, b and 3 others".
func list(names []string) string {
	const most = 3
	if len(names) > most+1 {
		names = append(names[:most:most], fmt.Sprintf("%d others", len(names)-most))
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// plural is a verb for one or for several.
func plural(names []string, one, several string) string {
	if len(names) == 1 {
		return one
	}
	return several
}

// ordinal is 1st, 2nd, 3rd, 4th …
func ordinal(n uint32) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.FormatUint(uint64(n), 10) + suffix
}

// ifSome is a text with what stands before it; empty if the text is.
func ifSome(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// inBrackets is ifSome in brackets.
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// bare is a message without the full stop, the spaces and the newlines at its end.
func bare(message string) string { return strings.TrimRight(message, " .\n\t") }
