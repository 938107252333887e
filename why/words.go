package why

import (
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/sentence"
)

// words puts what an explanation is made of into its reader's language.
type words struct{ sentence.Language }

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
		return t.Say(" for %s", t.span(d))
	}
	return ""
}

// soFar is how long something has been going on, as ", for 12 s now"; empty if that is less than a
// second.
func (t *explainer) soFar(since time.Time) string {
	if d := t.now.Sub(since); !since.IsZero() && d >= time.Second {
		return t.Say(", for %s now", t.span(d))
	}
	return ""
}

// when says when something comes: "12:04:31, in 8 s".
func (t *explainer) when(until time.Time) string {
	left := until.Sub(t.now)
	switch {
	case left >= time.Second:
		return t.Say("%s, in %s", t.clock(until), t.span(left))
	case left > -time.Second:
		return t.Say("%s, now", t.clock(until))
	}
	return t.Say("%s, %s ago", t.clock(until), t.span(-left))
}

// span is a duration in the two largest units that it has: 8 s, 2 min 5 s, 3 d 4 h.
func (w words) span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		tenths := d.Round(100 * time.Millisecond)
		return strconv.FormatFloat(tenths.Seconds(), 'f', -1, 64) + " " + w.Word("s")
	case d < time.Minute-time.Second/2:
		return w.whole(d, seconds)
	case d < time.Hour-time.Second/2:
		return w.pair(d.Round(time.Second), minutes, seconds)
	case d < 24*time.Hour-time.Minute/2:
		return w.pair(d.Round(time.Minute), hours, minutes)
	}
	return w.pair(d.Round(time.Hour), days, hours)
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

func (w words) whole(d time.Duration, in unit) string {
	return strconv.FormatInt(int64(d.Round(in.size)/in.size), 10) + " " + w.Word(in.name)
}

func (w words) pair(d time.Duration, large, small unit) string {
	text := strconv.FormatInt(int64(d/large.size), 10) + " " + w.Word(large.name)
	if rest := d % large.size / small.size; rest > 0 {
		text += " " + strconv.FormatInt(int64(rest), 10) + " " + w.Word(small.name)
	}
	return text
}

// bytes is an amount of memory in the units of Kubernetes.
func (w words) bytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size {
			return strconv.FormatFloat(float64(n*10/unit.size)/10, 'f', -1, 64) + " " + unit.name
		}
	}
	return w.Say("%d bytes", n)
}

// list is names in a sentence: "a", "a and b", "a, b and 3 others".
func (w words) list(names []string) string {
	const most = 3
	if len(names) > most+1 {
		names = append(names[:most:most], w.Say("%d others", len(names)-most))
	}
	text := strings.Join(names[:min(len(names), 1)], "")
	for i := 1; i < len(names)-1; i++ {
		text = w.Say("%s, %s", text, names[i])
	}
	if n := len(names); n > 1 {
		return w.Say("%s and %s", text, names[n-1])
	}
	return text
}

// plural is a verb for one or for several.
func plural(names []string, one, several string) string {
	if len(names) == 1 {
		return one
	}
	return several
}

// ifSome is a text in a format, such as ": %s"; empty if the text is.
func (w words) ifSome(format, text string) string {
	if text == "" {
		return ""
	}
	return w.Say(format, text)
}

// inBrackets is ifSome in brackets.
func (w words) inBrackets(text string) string { return w.ifSome(" (%s)", text) }

// bare is a message without the full stop, the spaces and the newlines at its end.
func bare(message string) string { return strings.TrimRight(message, " .\n\t") }
