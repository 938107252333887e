package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/contract"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/why"
)

// whyFlags are those of lifepod why.
type whyFlags struct {
	wanted timeline.Wanted
	output string
	// language is the language of the text for people.
	language sentence.Language
	rule     bool
	group    timeline.ChosenGroup
	// exitCode has it end with 1 if anything is not as it should be.
	exitCode bool
	trouble  bool // something was not as it should be
}

func newWhyCommand(open journals, code *int) *cobra.Command {
	f := &whyFlags{}
	command := &cobra.Command{
		Use:   "why [flags] [POD [CONTAINER]]",
		Short: "Say why a pod is as it is: what it waits for, why it was restarted",
		Long: `Say why a pod is as it is: what each container waits for and until when, what led to
the last restart, what keeps the pod from being Ready, what holds its end up.

Without a pod it tells of every pod that is not as it should be, the worst first,
and of those that failed in the last hour; pods with one cause are shown together.
Of a cluster it tells, too, of workloads whose pods are refused, of claims that are not
bound, and of Services that have no endpoint. With --group it tells of a group whose pods
restart as one: which member began its last restart, where the time went, and which
members the others wait for.

It is read from the journal in the state folder, also of pods that are gone;
kubectl lifepod why reads those of a cluster's nodes.`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeJournal(open, &f.wanted.Namespace),
		RunE: func(command *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			source, err := open(command, f.wanted.Namespace)
			if err != nil {
				return err
			}
			switch out := command.OutOrStdout(); {
			case f.group.Name != "":
				err = f.ofGroup(out, source)
			case len(args) == 0:
				err = f.all(out, command.ErrOrStderr(), source)
			default:
				err = f.one(out, source, args)
			}
			if err == nil && f.trouble && f.exitCode {
				*code = 1
			}
			return err
		},
	}
	flags := command.Flags()
	flags.StringVarP(&f.wanted.Namespace, "namespace", "n", "", "the pods' `namespace`, where a name is not enough")
	flags.StringVarP(&f.wanted.Labels, "selector", "l", "", "the pods with these `labels`, such as app=web")
	flags.StringVarP(&f.output, "output", "o", "", "`format`: json")
	commandline.LanguageVar(flags, &f.language)
	flags.BoolVar(&f.rule, "rule", false, "quote the rules behind it, too")
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit code 1 if anything is not as it should be")
	flags.StringVar(&f.group.Name, "group", "", "the group of this `name`: of the JobSet, or of the label lifepod.dev/group-name")
	return command
}

// check refuses what does not go together.
func (f *whyFlags) check(args []string) error {
	if err := commandline.CheckOutput(f.output, "json"); err != nil {
		return err
	}
	switch {
	case len(args) > 0 && f.wanted.Labels != "":
		return errors.New("the name of a pod and -l exclude each other")
	case f.group.Name != "" && (len(args) > 0 || f.wanted.Labels != ""):
		return errors.New("--group excludes the name of a pod and -l")
	case f.group.Name != "" && f.exitCode:
		return errors.New("--exit-code is about pods, not about a group")
	case f.group.Name != "" && f.rule:
		return errors.New("--rule is about pods: of a group there is none to quote")
	}
	if f.output == "json" {
		f.language = sentence.English
	}
	f.group.Namespace = f.wanted.Namespace
	err := f.group.Check()
	f.wanted.Namespace = f.group.Namespace
	return err
}

// ofGroup tells of a group.
func (f *whyFlags) ofGroup(out io.Writer, source journal.Source) error {
	namespace, records, err := f.group.From(source)
	if err != nil {
		return err
	}
	name := namespace + "/" + f.group.Name
	g := why.ExplainGroup(name, records, time.Now(), f.language)
	switch {
	case g == nil:
		return fmt.Errorf("all pods of the group %s are gone: lifepod timeline --group shows how its attempts went", plain.Line(name))
	case f.output == "json":
		return writeJSON(out, g)
	}
	return why.Layout{Width: widthOf(out), Language: f.language}.WriteGroup(out, g)
}

// one explains a pod, or one of its containers.
func (f *whyFlags) one(out io.Writer, source journal.Source, args []string) error {
	f.wanted.Names = args[:1]
	pods, err := f.wanted.From(source)
	if err != nil {
		return f.object(out, source, args, err)
	}
	record, err := source.Read(pods[0].UID)
	if err != nil {
		return err
	}
	e := why.Explain(record, time.Now(), f.language)
	if len(args) == 2 {
		if err := hasContainer(&record.Pod, args[1]); err != nil {
			return err
		}
		e = e.About(args[1])
	}
	f.trouble = !e.Well
	if f.output == "json" {
		return writeJSON(out, e)
	}
	layout, err := f.layout(out)
	if err != nil {
		return err
	}
	return layout.Write(out, e)
}

// object tells of what is called so and is no pod, if it is not as it should be; else there is no such pod.
func (f *whyFlags) object(out io.Writer, source journal.Source, args []string, noPod error) error {
	objects, err := objectsOf(source, labels.Everything())
	if len(args) > 1 || err != nil {
		return noPod
	}
	list := slices.DeleteFunc(objects.Troubles(f.language), func(t why.Trouble) bool {
		_, name, _ := strings.Cut(t.Object, " ") // after its kind
		return name != args[0] && (!strings.HasSuffix(name, "/"+args[0]) || f.wanted.Namespace != "" && name != f.wanted.Namespace+"/"+args[0])
	})
	if len(list) == 0 {
		return noPod
	}
	f.trouble = true
	if f.output == "json" {
		return writeJSON(out, list)
	}
	return why.Layout{Width: widthOf(out), Colour: plain.Colours(out), Language: f.language}.WriteTroubles(out, list)
}

func hasContainer(pod *journal.Pod, name string) error {
	var names []string
	for _, c := range pod.Containers {
		names = append(names, c.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	text := fmt.Sprintf("pod %s/%s has no container %q", pod.Namespace, pod.Name, plain.Line(name))
	if near := plain.Nearest(name, names); near != "" {
		return fmt.Errorf("%s: did you mean %s?", text, plain.Line(near))
	}
	return fmt.Errorf("%s: it has %s", text, plain.Line(strings.Join(names, ", ")))
}

// all tells of the pods that are not as they should be, and of what else of a cluster is not.
func (f *whyFlags) all(out, warnings io.Writer, source journal.Source) error {
	selector, err := labels.Parse(f.wanted.Labels)
	if err != nil {
		return fmt.Errorf("-l %q: %w", f.wanted.Labels, err)
	}
	records, err := timeline.Records(source, func(p *journal.Pod) bool {
		return (f.wanted.Namespace == "" || p.Namespace == f.wanted.Namespace) && selector.Matches(labels.Set(p.Labels))
	})
	if err != nil {
		return err
	}
	list, asked := why.Overview(records, time.Now(), f.language)
	objects, err := objectsOf(source, selector)
	if err != nil {
		warn(warnings, "of objects that are no pods nothing is known: %v", err)
	}
	list = append(list, objects.Troubles(f.language)...)
	f.trouble = len(list) > 0
	if f.output == "json" {
		return writeJSON(out, append([]why.Trouble{}, list...))
	}
	layout, err := f.layout(out)
	if err != nil {
		return err
	}
	return layout.WriteAll(out, list, asked)
}

// layout is that of a terminal, or of 80 columns.
func (f *whyFlags) layout(out io.Writer) (why.Layout, error) {
	l := why.Layout{Width: widthOf(out), Colour: plain.Colours(out), Language: f.language}
	if !f.rule {
		return l, nil
	}
	rules, err := contract.Rules()
	if err != nil {
		return l, err
	}
	l.Quote = func(number string, width int) string {
		for _, rule := range rules {
			if rule.Number == number {
				return contract.Plain(rule.Text, width)
			}
		}
		return ""
	}
	return l, nil
}

// objectsOf are what the cluster of a source has beside pods, with these labels; nothing if it is of no cluster.
func objectsOf(source journal.Source, selector labels.Selector) (*why.Objects, error) {
	switch s := source.(type) {
	case journal.Several:
		for _, one := range s {
			if own, is := one.(ownCluster); is {
				o, _ := own.Objects(selector) // its Pods have warned
				return o, nil
			}
		}
	case *remote.Cluster:
		return s.Objects(selector)
	}
	return &why.Objects{}, nil
}
