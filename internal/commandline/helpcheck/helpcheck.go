// Package helpcheck is the test of both programs' help.
package helpcheck

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

// Check holds that every command is in a group, and has two examples with flags that it has; that nothing is wider than 80 columns,
// and that no value's name is repeated.
func Check(t *testing.T, root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	list := helpOf(t, root)
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !strings.Contains(list, "\n  "+c.Name()+" ") {
			t.Errorf("%s is in no group: commands.txt has no example", c.CommandPath())
		}
		if c.Name() != "completion" { // cobra's own
			check(t, c)
		}
	}
}

// isForm is a value's name that is not a word.
var isForm = regexp.MustCompile(`[^A-Za-z]`)

func check(t *testing.T, command *cobra.Command) {
	for line := range strings.Lines(helpOf(t, command)) {
		if line = strings.TrimRight(line, "\n"); plain.Width(line) > 80 {
			t.Errorf("%s --help is wider than 80 columns: %s", command.CommandPath(), line)
		}
	}
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if value, text := commandline.FlagUsage(f); isForm.MatchString(value) && strings.Contains(text, value) {
			t.Errorf("%s --%s says %s twice", command.CommandPath(), f.Name, value)
		}
	})
	examples := commandline.Examples(command)
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() {
			check(t, below)
			examples = append(examples, commandline.Examples(below)...)
		}
	}
	if len(examples) < 2 {
		t.Errorf("%s has %d examples, want 2 in commands.txt", command.CommandPath(), len(examples))
	}
	for _, e := range commandline.Examples(command) {
		_, arguments, _ := strings.Cut(e, command.CommandPath())
		if err := command.ParseFlags(strings.Fields(arguments)); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
}

func helpOf(t *testing.T, command *cobra.Command) string {
	var out bytes.Buffer
	command.SetOut(&out)
	assert.Must(t, command.Help())
	return out.String()
}
