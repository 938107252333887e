package commandline

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/plain"
)

// columns is how wide help is: it is read in any terminal.
const columns = 80

// commands has the groups of commands, as headings, and in each examples of the commands that are in it. Both programs have it; what
// is not theirs they pass over.
//
//go:embed commands.txt
var commands string

// Help has a command and those below it show their help in groups, with examples.
func Help(root *cobra.Command) {
	root.SetHelpFunc(func(command *cobra.Command, _ []string) { fmt.Fprint(command.OutOrStdout(), helpOf(command)) })
}

func helpOf(command *cobra.Command) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(cmp.Or(command.Long, command.Short), "\n\n") {
		b.WriteString(plain.Wrap(paragraph, columns, "") + "\n\n")
	}
	examples := Examples(command)
	b.WriteString("Usage:\n")
	if len(examples) > 0 {
		b.WriteString(plain.Wrap("  "+command.UseLine(), columns, "    ") + "\n")
	}
	if command.HasAvailableSubCommands() {
		b.WriteString("  " + command.CommandPath() + " COMMAND\n")
	}
	for _, g := range groupsOf(command) {
		b.WriteString("\n" + g.title + "\n")
		table(&b, g.rows)
	}
	if len(examples) > 0 {
		b.WriteString("\nExamples:\n  " + strings.Join(examples, "\n  ") + "\n")
	}
	b.WriteString("\nFlags:\n")
	rows := flagRows(command.LocalFlags())
	var ofRoot []string
	command.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if command.Root().PersistentFlags().Lookup(f.Name) != nil {
			ofRoot = append(ofRoot, "--"+f.Name)
			return
		}
		rows = append(rows, flagRow(f))
	})
	table(&b, rows)
	if len(ofRoot) > 0 {
		fmt.Fprintf(&b, "\nAnd those of every command, which %s --help explains:\n  %s\n", command.Root().CommandPath(), strings.Join(ofRoot, ", "))
	}
	if command.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help explains a command, with examples.\n", command.CommandPath())
	}
	return b.String()
}

// group is a part of a list of commands.
type group struct {
	title string
	rows  [][2]string
}

// groupsOf are the commands below one: those of the root in the groups and the order of the file.
func groupsOf(above *cobra.Command) (list []group) {
	if above.HasParent() {
		list = append(list, group{title: "Commands:"})
	}
	var seen []*cobra.Command
	for line := range strings.Lines(commands) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ":") && !above.HasParent() {
			list = append(list, group{title: line})
			continue
		}
		c := exampleOf(above.Root(), line)
		for c != nil && c.Parent() != above {
			c = c.Parent()
		}
		if c != nil && c.IsAvailableCommand() && !slices.Contains(seen, c) {
			last := &list[len(list)-1]
			last.rows, seen = append(last.rows, [2]string{c.Name(), c.Short}), append(seen, c)
		}
	}
	return slices.DeleteFunc(list, func(g group) bool { return len(g.rows) == 0 })
}

// Examples are those of a command, as they are typed.
func Examples(command *cobra.Command) (list []string) {
	for line := range strings.Lines(commands) {
		if line = strings.TrimSpace(line); exampleOf(command.Root(), line) == command {
			list = append(list, strings.Replace(line, "lifepod", command.Root().CommandPath(), 1))
		}
	}
	return list
}

// exampleOf is the command that a line is an example of, nil if this program does not have it.
func exampleOf(root *cobra.Command, line string) *cobra.Command {
	_, arguments, _ := strings.Cut(line, "lifepod ")
	found, _, err := root.Find(strings.Fields(arguments))
	if err != nil || found == root {
		return nil
	}
	return found
}

func flagRows(flags *pflag.FlagSet) (rows [][2]string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			rows = append(rows, flagRow(f))
		}
	})
	return rows
}

func flagRow(f *pflag.Flag) [2]string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	value, text := FlagUsage(f)
	switch {
	case value != "" && f.NoOptDefVal != "":
		name += "[=" + value + "]"
	case value != "":
		name += " " + value
	}
	if !slices.Contains([]string{"", "0", "-1", "false", "[]", "<nil>"}, f.DefValue) {
		text += " (default " + f.DefValue + ")"
	}
	return [2]string{name, text}
}

// FlagUsage is what a flag's value is called, and what it is for. Where the text begins or ends with the value's name, it is left
// out: the name stands before it.
func FlagUsage(f *pflag.Flag) (value, text string) {
	value, text = pflag.UnquoteUsage(f)
	quoted := "`" + value + "`"
	if rest, is := strings.CutPrefix(f.Usage, quoted); is {
		return value, strings.TrimLeft(rest, ":, ")
	}
	if rest, is := strings.CutSuffix(f.Usage, quoted); is {
		if at := strings.LastIndex(rest, ":"); at >= 0 {
			return value, rest[:at]
		}
	}
	return value, text
}

// table has the second column side by side, where the first leaves it room.
func table(b *strings.Builder, rows [][2]string) {
	const widest = 28
	width := 0
	for _, r := range rows {
		if w := plain.Width(r[0]); w <= widest {
			width = max(width, w)
		}
	}
	indent := strings.Repeat(" ", 2+width+3)
	for _, r := range rows {
		gap := indent[min(2+plain.Width(r[0]), len(indent)):]
		if plain.Width(r[0]) > width {
			gap = "\n" + indent
		}
		b.WriteString("  " + r[0] + gap + strings.ReplaceAll(plain.Wrap(r[1], columns-len(indent), ""), "\n", "\n"+indent) + "\n")
	}
}
