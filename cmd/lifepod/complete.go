package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/worker/images"
)

// completionTime is how long a shell that completes a line waits for what there is.
const completionTime = time.Second

// completer completes arguments or values of flags.
type completer = commandline.Completer

// completeFlags gives every flag a completion.
func (g *global) completeFlags(root *cobra.Command) {
	commandline.CompleteFlags(root, map[string]completer{
		"output":    completeOutput,
		"namespace": g.completeNamespace,
		"container": g.completeContainer,
		"target":    g.completeContainer,
		"image":     g.completeImage,
	})
}

// completeOutput goes on behind what ends in =.
func completeOutput(command *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := slices.DeleteFunc(slices.Clone(outputs[command.Name()]), func(o string) bool { return !strings.HasPrefix(o, typed) })
	if len(list) == 1 && strings.HasSuffix(list[0], "=") {
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// outputs are the values of -o by command.
var outputs = map[string][]string{
	"run": {"json"}, "doctor": {"json"}, "ls": {"json", "wide"}, "ps": psOutputs, "status": objectOutputs, "events": objectOutputs, "why": {"json"},
	"timeline": {"json", "svg", "html", "otlp"}, "sim": {"json", "timeline", "svg", "html"}, "diff": {"json"}, "pull": {"json"},
}

// known are the pods that a line can name; nobody but root sees any.
func (g *global) known() []*v1.Pod {
	c, err := g.pods()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	attended, _, err := c.Pods(ctx)
	if err != nil {
		return nil
	}
	all, _ := (&which{}).of(attended, c.Unattended(attended)) // nothing of it can be wrong
	return all.pods
}

// completePod completes the name of a pod, the first argument.
func (g *global) completePod(command *cobra.Command, args []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace := ""
	if f := command.Flag("namespace"); f != nil {
		namespace = f.Value.String()
	}
	pods := slices.DeleteFunc(g.known(), func(p *v1.Pod) bool { return namespace != "" && p.Namespace != namespace })
	for _, p := range pods {
		same := slices.DeleteFunc(slices.Clone(pods), func(other *v1.Pod) bool { return other.Name != p.Name })
		name := p.Name
		switch {
		case len(same) > 1 && same[0].Namespace == same[1].Namespace:
			name = string(p.UID)
		case len(same) > 1:
			name = p.Namespace + "/" + p.Name
		}
		list = append(list, cobra.CompletionWithDesc(name, client.Status(p)))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeJournal completes the names of pods that the journal has; behind one, if containers are asked about, its containers'.
func completeJournal(open journals, namespace *string) completer {
	return func(command *cobra.Command, args []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
		source, err := open(command, *namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		pods, _ := source.Pods() // those that can be read
		ofPod := command.Name() == "why" && len(args) > 0
		for _, p := range pods {
			if !ofPod {
				list = append(list, p.Name)
			} else if len(args) == 1 && p.Name == args[0] {
				for _, c := range p.Containers {
					list = append(list, c.Name)
				}
			}
		}
		return slices.Compact(slices.Sorted(slices.Values(list))), cobra.ShellCompDirectiveNoFileComp
	}
}

// podOfLine is the pod that the line names already, nil if it names none.
func (g *global) podOfLine(args []string) *v1.Pod {
	if len(args) == 0 {
		return nil
	}
	for _, p := range g.known() {
		if args[0] == p.Name || args[0] == p.Namespace+"/"+p.Name || args[0] == string(p.UID) {
			return p
		}
	}
	return nil
}

// completePodContainer completes POD CONTAINER.
func (g *global) completePodContainer(command *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return g.completeContainer(command, args, typed)
	}
	return g.completePod(command, args, typed)
}

func (g *global) completeContainer(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	pod := g.podOfLine(args)
	switch {
	case pod == nil:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case command.Name() == "restart" || command.Name() == "resize":
		return control.Restartable(pod), cobra.ShellCompDirectiveNoFileComp
	}
	return control.ContainerNames(pod), cobra.ShellCompDirectiveNoFileComp
}

func (g *global) completeNamespace(*cobra.Command, []string, string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, p := range g.known() {
		list = append(list, p.Namespace)
	}
	slices.Sort(list)
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
}

// completeCondition completes POD TYPE=STATUS: the pod's readiness gates come first.
func (g *global) completeCondition(command *cobra.Command, args []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return g.completePod(command, args, typed)
	}
	pod := g.podOfLine(args)
	if pod == nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, gate := range pod.Spec.ReadinessGates {
		for _, status := range []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown} {
			list = append(list, fmt.Sprintf("%s=%s", gate.ConditionType, status))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeImage completes the name of an image that the runtime holds, while it runs:
// none is started for it.
func (g *global) completeImage(*cobra.Command, []string, string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	runtime, err := cri.Dial("unix://" + g.runtimeSocket())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = runtime.Close() }() // it was only asked
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	held, err := images.New(runtime.Images, images.Options{}).List(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, image := range held {
		list = append(list, image.Tags...)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeByCluster has the program of clusters complete the line, if it was unpacked
// before: this process becomes it.
func completeByCluster(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	root, err := programRoot(os.Args[1:])
	if err == nil {
		if unpacked, _ := filepath.Glob(filepath.Join(rootfolder.Program.In(root), "*")); len(unpacked) > 0 {
			err = becomeCluster(os.Args[1:])
		}
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return nil, cobra.ShellCompDirectiveDefault
}
