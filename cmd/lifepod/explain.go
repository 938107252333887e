package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lifepod/lifepod/internal/contract"
)

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE|AREA]...",
		Short: "Quote the rule behind a line, such as A-RST-1; alone it lists the chapters",
		Long: `Quote a rule of the contract: what Kubernetes does with a Pod, where its source does it,
and what lifepod does differently. The numbers are those in the output of lifepod run -v
and in the log of lifepod agent. An area, such as A-RST, lists its rules.`,
		RunE: func(command *cobra.Command, args []string) error {
			chapters, err := contract.Chapters()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listChapters(command.OutOrStdout(), chapters)
			}
			rules, err := contract.Rules()
			if err != nil {
				return err
			}
			return explain(command.OutOrStdout(), rules, args)
		},
	}
}

// explain prints each rule that is asked for, and lists those of an area.
func explain(out io.Writer, rules []contract.Rule, names []string) error {
	width := widthOf(out)
	for i, name := range names {
		found, err := contract.Find(rules, name)
		if err != nil {
			return err
		}
		if i > 0 {
			_, _ = fmt.Fprintln(out) // the next one has the error
		}
		for _, rule := range found {
			text := fmt.Sprintf("%s  (%s, docs/contract/%s)\n\n%s", rule.Number, rule.Chapter, rule.Anchor(), contract.Plain(rule.Text, width))
			if !strings.EqualFold(rule.Number, name) {
				text = fmt.Sprintf("%-9s  %s", rule.Number, contract.Plain(rule.Title, width*2))
			}
			if _, err := fmt.Fprintln(out, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func listChapters(out io.Writer, chapters []contract.Chapter) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	part := ""
	for _, c := range chapters {
		if c.Part != part {
			part = c.Part
			_, _ = fmt.Fprintf(table, "%s\n", part) // Flush has the error
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\n", strings.Join(c.Areas, ", "), c.Title)
	}
	_, _ = fmt.Fprintln(table, "\nlifepod explain A-RST lists the rules of an area, lifepod explain A-RST-1 quotes one.")
	return table.Flush()
}

// widthOf is how wide text for a writer may be: as the terminal, within limits that
// make it easy to read.
func widthOf(out io.Writer) int {
	const usual, most = 80, 110
	if file, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return min(width, most)
		}
	}
	return usual
}
