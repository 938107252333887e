package draw

import (
	"fmt"

	"github.com/lifepod/lifepod/timeline"
)

// about is how a pod is, or how the newest attempt of a group went, in a line.
func about(c *timeline.Chart) string {
	if c.Group != nil {
		text := c.Headline()
		if n := len(c.Group.Attempts); n > 0 {
			text = c.AttemptText(&c.Group.Attempts[n-1])
		}
		return text + ", since " + c.Begin.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	text := state(c)
	took := timeline.Took(c.Path.At.Sub(c.Begin))
	if c.Path.To == "now" {
		text += ", not Ready for " + took
	} else {
		text += ", " + c.Path.To + " after " + took
	}
	if c.Pod.Node != "" {
		text += ", on " + c.Pod.Node
	}
	return timeline.Line(text + ", created " + c.Begin.UTC().Format("2006-01-02 15:04:05") + " UTC")
}

// shareText is "62 % image pull of main, 2.12s (busybox:1.37, 4.3 MiB)".
func shareText(s *timeline.Share) string {
	text := fmt.Sprintf("%d %% %s, %s", s.Percent, s.Label, timeline.Took(s.Took))
	if s.Bytes > 0 {
		text += fmt.Sprintf(" (%s, %s)", s.Image, timeline.Size(s.Bytes))
	}
	return timeline.Line(text)
}

// pathText is "Critical path to Ready, 10.3s".
func pathText(c *timeline.Chart) string {
	to := c.Path.To
	if to == "now" {
		to = "the present"
	}
	return timeline.Line("Critical path to " + to + ", " + timeline.Took(c.Path.Duration()))
}
