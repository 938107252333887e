package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/contract"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
)

func newExplainCommand() *cobra.Command {
	var language sentence.Language
	command := &cobra.Command{
		Use:   "explain [RULE|AREA|WORD]...",
		Short: "Say what a word such as CrashLoopBackOff means, or quote a rule such as A-RST-1",
		Long: `Say what a word means, such as CrashLoopBackOff, Initialized or preStop: what follows
from it, which rules are behind it, how to look. Of another word the rules are listed
that name it.

Quote a rule of the contract: what Kubernetes does with a Pod, where its source does it,
and what lifepod does differently. The numbers are those in the output of lifepod run -v
and in the log of lifepod agent. An area, such as A-RST, lists its rules; alone the
command lists the words and the chapters.`,
		ValidArgsFunction: completeWords,
		RunE: func(command *cobra.Command, args []string) error {
			chapters, err := contract.Chapters()
			if err != nil {
				return err
			}
			words, err := contract.Words(language)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listAll(command.OutOrStdout(), words, chapters, language)
			}
			rules, err := contract.Rules()
			if err != nil {
				return err
			}
			return explain(command.OutOrStdout(), words, rules, args, language)
		},
	}
	commandline.LanguageVar(command.Flags(), &language)
	return command
}

// completeWords completes words and areas; behind a hyphen, which only numbers have, those of rules.
func completeWords(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if strings.Contains(typed, "-") {
		rules, _ := contract.Rules() // nothing to complete, then
		for _, r := range rules {
			if strings.HasPrefix(r.Number, typed) {
				list = append(list, cobra.CompletionWithDesc(r.Number, contract.Plain(r.Title, 1000)))
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	words, _ := contract.Words(sentence.English)
	for _, w := range words {
		list = append(list, w.Names...)
	}
	chapters, _ := contract.Chapters()
	for _, c := range chapters {
		list = append(list, c.Areas...)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// explain prints words and rules. Of an area it lists the rules, and of any other word the rules whose text has it.
func explain(out io.Writer, words []contract.Word, rules []contract.Rule, names []string, language sentence.Language) error {
	width := widthOf(out)
	for i, name := range names {
		if i > 0 {
			_, _ = fmt.Fprintln(out) // the next one has the error
		}
		if word, is := contract.FindWord(words, name); is {
			if _, err := fmt.Fprintf(out, "%s\n\n%s\n", strings.Join(word.Names, ", "), contract.Plain(word.Text, width)); err != nil {
				return err
			}
			continue
		}
		found, err := contract.Find(rules, name)
		if err != nil {
			if found = contract.Naming(rules, name); len(found) == 0 || !isWord.MatchString(name) {
				return err
			}
		}
		if language != sentence.English {
			_, _ = fmt.Fprintf(out, "%s\n\n", language.Word("The rules are in English.")) // the next one has the error
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

// isWord is what rules are searched for.
var isWord = regexp.MustCompile(`^[A-Za-z][A-Za-z.]{3,}$`)

func listAll(out io.Writer, words []contract.Word, chapters []contract.Chapter, language sentence.Language) error {
	var names []string
	for _, w := range words {
		names = append(names, w.Names...)
	}
	_, _ = fmt.Fprintf(out, "%s\n%s\n\n", language.Word("Words"), contract.Plain(strings.Join(names, ", "), widthOf(out))) // Flush has the error
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	part := ""
	for _, c := range chapters {
		if c.Part != part {
			part = c.Part
			_, _ = fmt.Fprintf(table, "%s\n", language.Word(part)) // Flush has the error
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\n", strings.Join(c.Areas, ", "), language.Word(c.Title))
	}
	_, _ = fmt.Fprintln(table, "\n"+language.Word("lifepod explain CrashLoopBackOff says what a word means, lifepod explain A-RST lists the rules of an area, lifepod explain A-RST-1 quotes one."))
	return table.Flush()
}

// widthOf is how wide text for a writer may be: as the terminal, within limits that
// make it easy to read.
func widthOf(out io.Writer) int {
	const usual, most = 80, 110
	return min(cmp.Or(plain.Columns(out), usual), most)
}
