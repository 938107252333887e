package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/telemetry"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/draw"
)

// timelineFlags are those of lifepod timeline.
type timelineFlags struct {
	wanted   timeline.Wanted
	output   string
	language sentence.Language
	diff     bool
	group    timeline.ChosenGroup
	attempts int
}

func newTimelineCommand(open journals) *cobra.Command {
	t := &timelineFlags{}
	command := &cobra.Command{
		Use:   "timeline [flags] POD…",
		Short: "Show where a pod's time went: a chart from its creation to its end",
		Long: `Show where a pod's time went: its scheduling, volumes, sandbox, image pulls,
containers, probes, restarts and its end, as bars over time. What its first Ready
had to wait for, one after the other, is marked: the critical path.

It is read from the journal in the state folder, also of pods that are gone;
kubectl lifepod timeline reads those of a cluster's nodes.
Several pods, or those with labels (-l), share one axis, a row each: the slowest is
marked. --diff compares two, step by step. --group shows a group whose pods restart
as one: who began each restart, what all waited for, and for whom.`,
		ValidArgsFunction: completeJournal(open, &t.wanted.Namespace),
		RunE: func(command *cobra.Command, args []string) error {
			t.wanted.Names = args
			if err := t.check(command); err != nil {
				return err
			}
			source, err := open(command, t.wanted.Namespace)
			if err != nil {
				return err
			}
			return t.show(command, source)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&t.wanted.Namespace, "namespace", "n", "", "the pods' `namespace`, where a name is not enough")
	flags.StringVarP(&t.wanted.Labels, "selector", "l", "", "the pods with these `labels`, such as app=web")
	flags.StringVarP(&t.output, "output", "o", "", "`format`: json; svg, a picture; html, a page that needs nothing else; otlp sends traces to the collector of OTEL_EXPORTER_OTLP_ENDPOINT")
	flags.StringVar(&t.group.Name, "group", "", "the group of this `name`: of the JobSet, or of the label lifepod.dev/group-name")
	flags.IntVar(&t.attempts, "rounds", usualAttempts,
		"of a group, this `number` of the newest attempts; 0: all, as -o json and otlp have")
	commandline.LanguageVar(flags, &t.language)
	flags.BoolVar(&t.diff, "diff", false, "compare two pods, step by step")
	return command
}

// usualAttempts is how many attempts of a group a chart has.
const usualAttempts = 5

// check refuses what does not go together.
func (t *timelineFlags) check(command *cobra.Command) error {
	if err := commandline.CheckOutput(t.output, "json", "svg", "html", "otlp"); err != nil {
		return err
	}
	if t.output == "json" || t.output == "otlp" {
		t.language = sentence.English
	}
	switch n := len(t.wanted.Names); {
	case t.group.Name != "":
		return t.checkGroup(command)
	case n == 0 && t.wanted.Labels == "":
		return fmt.Errorf("want a pod, -l or --group: %s", command.UseLine())
	case n > 0 && t.wanted.Labels != "":
		return errors.New("names of pods and -l exclude each other")
	case command.Flags().Changed("rounds"):
		return errors.New("--rounds is about groups: say which with --group")
	}
	return t.checkHow()
}

// checkHow is check for how pods are shown.
func (t *timelineFlags) checkHow() error {
	switch {
	case t.diff && len(t.wanted.Names) != 2:
		return errors.New("--diff wants two pods")
	case t.diff && t.output != "" && t.output != "json":
		return fmt.Errorf("--diff and -o %s exclude each other: there is -o json", t.output)
	}
	return nil
}

// checkGroup is check for a group.
func (t *timelineFlags) checkGroup(command *cobra.Command) error {
	switch {
	case len(t.wanted.Names) > 0 || t.wanted.Labels != "":
		return errors.New("--group excludes names of pods and -l")
	case t.diff:
		return errors.New("--group and --diff exclude each other")
	case t.attempts < 0:
		return fmt.Errorf("--rounds %d: want 0 or more", t.attempts)
	}
	forPrograms := t.output == "json" || t.output == "otlp"
	if forPrograms && !command.Flags().Changed("rounds") {
		t.attempts = 0
	}
	t.group.Namespace = t.wanted.Namespace
	err := t.group.Check()
	t.wanted.Namespace = t.group.Namespace
	return err
}

// show shows what the journal has.
func (t *timelineFlags) show(command *cobra.Command, source journal.Source) error {
	charts, err := t.charts(source)
	if err != nil {
		return err
	}
	out := command.OutOrStdout()
	if t.diff {
		return t.compare(out, charts)
	}
	if t.output == "otlp" {
		return sendSpans(command.Context(), out, charts)
	}
	return t.write(out, charts)
}

// charts reads the charts.
func (t *timelineFlags) charts(source journal.Source) ([]*timeline.Chart, error) {
	if t.group.Name != "" {
		namespace, records, err := t.group.From(source)
		if err != nil {
			return nil, err
		}
		return []*timeline.Chart{timeline.OfGroup(timeline.NameOf(namespace, t.group.Name), records, time.Now(), t.attempts, t.language)}, nil
	}
	pods, err := t.wanted.From(source)
	if err != nil {
		return nil, err
	}
	var charts []*timeline.Chart
	for _, p := range pods {
		record, err := source.Read(p.UID)
		if err != nil {
			return nil, err
		}
		charts = append(charts, timeline.In(t.language, record, time.Now()))
	}
	return charts, nil
}

// sendSpans sends charts as traces, and says which.
func sendSpans(ctx context.Context, out io.Writer, charts []*timeline.Chart) error {
	if err := telemetry.SendSpans(ctx, charts); err != nil {
		return err
	}
	for _, c := range charts {
		fmt.Fprintf(out, "%s is trace %s\n", plain.Line(c.Title()), telemetry.TraceOf(c))
	}
	return nil
}

// write writes charts in the format that is wanted.
func (t *timelineFlags) write(out io.Writer, charts []*timeline.Chart) error {
	switch {
	case t.output == "json" && len(charts) == 1 && t.wanted.Labels == "":
		return writeJSON(out, charts[0])
	case t.output == "json":
		return writeJSON(out, charts)
	case t.output == "svg":
		return draw.WriteSVG(out, charts)
	case t.output == "html":
		return draw.WritePage(out, charts)
	}
	return draw.WriteText(out, charts, t.options(out))
}

func (t *timelineFlags) compare(out io.Writer, charts []*timeline.Chart) error {
	if len(charts) != 2 {
		return errors.New("--diff wants two pods: both names are of the same one")
	}
	c := timeline.Compare(charts[0], charts[1])
	if t.output == "json" {
		return writeJSON(out, c)
	}
	return draw.WriteComparison(out, &c, t.options(out))
}

// options are how to draw for an output. What isn't a terminal gets the usual width.
func (t *timelineFlags) options(out io.Writer) draw.TextOptions {
	const usual = 80
	return draw.TextOptions{Width: cmp.Or(plain.Columns(out), usual), Colour: plain.Colours(out)}
}

func writeJSON(out io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	_, err = out.Write(append(plain.JSON(text), '\n'))
	return err
}
