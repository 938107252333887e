package why

import (
	"cmp"
	"io"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
)

// Layout is how explanations are written for people.
type Layout struct {
	Width    int  // columns
	Colour   bool // by the terminal's escapes
	Language sentence.Language
	// Quote is the text of a rule of the contract in lines of at most so many columns; nil: rules
	// are left out.
	Quote func(rule string, width int) string
}

// Write writes an explanation: how the pod is, and then a paragraph for each cause.
func (l Layout) Write(out io.Writer, e Explanation) error {
	var b strings.Builder
	b.WriteString(wrap(e.Standing, l.Width, ""))
	for _, s := range e.Sentences {
		b.WriteString(wrap("- "+s.Text, l.Width, "  "))
		l.quote(&b, s)
	}
	if len(e.Sentences) == 0 {
		b.WriteString(wrap(e.Nothing(l.Language), l.Width, ""))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (l Layout) quote(b *strings.Builder, s Sentence) {
	if l.Quote == nil {
		return
	}
	for _, rule := range s.Rules {
		const indent = "    "
		b.WriteString(indent + rule + "\n")
		for line := range strings.Lines(l.Quote(rule, l.Width-len(indent))) {
			b.WriteString(strings.TrimRight(indent+line, " \n") + "\n")
		}
	}
}

// WriteAll writes what is wrong with pods, a paragraph for each cause. asked is how many pods
// there are.
func (l Layout) WriteAll(out io.Writer, list []Trouble, asked int) error {
	bad := 0
	for _, t := range list {
		bad += len(t.Pods)
	}
	if err := l.WriteTroubles(out, list); err != nil {
		return err
	}
	var b strings.Builder
	switch {
	case len(list) == 0:
		b.WriteString(l.Language.Say("%s, all as they should be.", l.Language.Count(asked, "pod")))
	case bad == 0:
		b.WriteString(l.Language.Say("%s, all as they should be, but not what is above.", l.Language.Count(asked, "pod")))
	default:
		format := plural(make([]string, bad), "%d of %s is not as it should be; lifepod why POD tells all of one.", "%d of %s are not as they should be; lifepod why POD tells all of one.")
		b.WriteString(l.Language.Say(format, bad, l.Language.Count(asked, "pod")))
	}
	_, err := io.WriteString(out, b.String()+"\n")
	return err
}

// WriteTroubles writes each with what it is about.
func (l Layout) WriteTroubles(out io.Writer, list []Trouble) error {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(plain.Strong.Paint(l.Colour, plain.Wrap(cmp.Or(t.Object, words{l.Language}.podNames(t.Pods)), l.Width, "  ")) + "\n")
		b.WriteString(wrap("  "+t.Text(l.Language), l.Width, "  "))
		l.quote(&b, t.Cause)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Text is what is wrong.
func (t Trouble) Text(l sentence.Language) string {
	text := cmp.Or(t.Cause.Text, plain.Line(t.Standing))
	if t.Gone && t.Cause.Text != "" {
		text = l.Word("It has failed and is gone. ") + text
	}
	if len(t.Pods) > 1 && t.Owner != "" {
		text += l.Say(" The others of %s are alike.", plain.Line(t.Owner))
	}
	return text
}

func (w words) podNames(all []journal.Pod) string {
	var names []string
	for _, p := range all {
		names = append(names, plain.Line(p.Namespace+"/"+p.Name))
	}
	return w.list(names)
}

// wrap is a paragraph; its second and later lines begin with an indent.
func wrap(text string, width int, indent string) string {
	return plain.Wrap(text, width, indent) + "\n"
}
