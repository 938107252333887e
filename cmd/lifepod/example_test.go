package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestExample: each example is listed in a line and printed; those that need no cluster are explained by their life,
// to its end.
func TestExample(t *testing.T) {
	lifepod := func(args ...string) string {
		var out bytes.Buffer
		root := newRootCommand(time.Now(), new(int))
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); err != nil {
			out.WriteString(err.Error())
		}
		return out.String()
	}
	list := lifepod("example", "list")
	for line := range strings.Lines(list) {
		assert.True(t, utf8.RuneCountInString(line) <= 80, "more than 80 columns: %s", line)
	}
	for _, name := range exampleNames() {
		explained := lifepod("example", "explain", name)
		switch {
		case !strings.Contains(list, "\n"+name+" ") && !strings.HasPrefix(list, name+" "):
			t.Errorf("%s is not listed", name)
		case !strings.HasPrefix(lifepod("example", "show", name), "# "):
			t.Errorf("%s is not shown, or has nothing on top that says what it is", name)
		case strings.HasPrefix(name, "cluster/"):
			out := lifepod("example", "run", name)
			assert.True(t, strings.Contains(out, "lifepod example show "+name+" | lifepod kubectl apply -f -"), "run of %s: %s", name, out)
		case !strings.Contains(explained, "lifepod example run "+name) || !strings.Contains(explained, "    A-COND-3\n") ||
			!strings.Contains(explained, "s pod Succeeded") && !strings.Contains(explained, "s pod Failed"):
			t.Errorf("%s is explained by\n%s", name, explained)
		}
	}
	out := lifepod("example", "show", "scenarios/hooks")
	assert.True(t, strings.Contains(out, `no example "scenarios/hooks": lifepod example list`), "%s", out)
}
