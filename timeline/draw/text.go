package draw

import (
	"fmt"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
)

// about is how a pod is, or how the newest attempt of a group went, in a line.
func about(c *timeline.Chart) string {
	if c.Group != nil {
		text := c.Headline()
		if n := len(c.Group.Attempts); n > 0 {
			text = c.AttemptText(&c.Group.Attempts[n-1])
		}
		return text + c.Language.Say(", since %s UTC", c.Begin.UTC().Format(time.DateTime))
	}
	l := c.Language
	text := state(c) + l.Word(", ") + reached(c)
	if c.Pod.Node != "" {
		text += l.Say(", on %s", c.Pod.Node)
	}
	return plain.Line(text + l.Say(", created %s UTC", c.Begin.UTC().Format(time.DateTime)))
}

// shareText is "62 % image pull of main, 2.12s (busybox:1.37, 4.3 MiB)".
func shareText(l sentence.Language, s *timeline.Share) string {
	text := fmt.Sprintf("%d %% %s, %s", s.Percent, s.Label, timeline.Took(s.Took))
	if s.Bytes > 0 {
		text += l.Say(" (%s, %s)", s.Image, timeline.Size(s.Bytes))
	}
	return plain.Line(text)
}

// pathText is "Critical path to Ready, 10.3s".
func pathText(c *timeline.Chart) string {
	return plain.Line(c.Language.Say("Critical path to %s, %s", goal(c), timeline.Took(c.Path.Duration())))
}

// goal is what the critical path leads to.
func goal(c *timeline.Chart) string {
	if c.Path.To == "now" {
		return c.Language.Word("the present")
	}
	return c.Language.Word(c.Path.To)
}
