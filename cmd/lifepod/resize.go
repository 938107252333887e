package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
)

// resizeFlags are those of lifepod resize.
type resizeFlags struct {
	container, cpu, memory, requests string
	whole                            bool
	wait                             waiting
}

func newResizeCommand(g *global) *cobra.Command {
	var on *onPod
	f := &resizeFlags{}
	command := &cobra.Command{
		Use:   "resize [flags] POD",
		Short: "Give a running container, or pod, other cpu and memory",
		Long: `Give a running container other cpu and memory (KEP-1287), and wait until it has
them. Whether that takes a restart is the container's resizePolicy's to say. With
--whole it is the pod as a whole (spec.resources, KEP-5419) that gets them.

--cpu and --memory are limits. A request that equals its limit follows it; other
requests stay as they are unless --requests says otherwise.`,
		Args: onePod,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			limits, requests, err := f.parse()
			if err != nil {
				return err
			}
			pod, err := on.find(ctx, args[0])
			if err == nil {
				err = f.resize(ctx, pod, limits, requests)
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	flags := command.Flags()
	flags.StringVarP(&f.container, "container", "c", "", "`name` of the container; not needed if the pod has one")
	flags.BoolVar(&f.whole, "whole", false, "the pod as a whole instead of a container")
	flags.StringVar(&f.cpu, "cpu", "", "`limit` of cpu, such as 500m")
	flags.StringVar(&f.memory, "memory", "", "`limit` of memory, such as 256Mi")
	flags.StringVar(&f.requests, "requests", "", "requests: `cpu=250m,memory=128Mi`")
	f.wait.add(command, "the container has them")
	command.MarkFlagsMutuallyExclusive("container", "whole")
	return command
}

// parse reads the quantities of the flags.
func (f *resizeFlags) parse() (limits, requests v1.ResourceList, err error) {
	limits, requests = v1.ResourceList{}, v1.ResourceList{}
	if f.cpu == "" && f.memory == "" && f.requests == "" {
		return nil, nil, errors.New("nothing to change: want --cpu, --memory or --requests")
	}
	err = errors.Join(
		quantity(limits, v1.ResourceCPU, f.cpu, "--cpu "+f.cpu),
		quantity(limits, v1.ResourceMemory, f.memory, "--memory "+f.memory),
	)
	if f.requests == "" {
		return limits, requests, err
	}
	for part := range strings.SplitSeq(f.requests, ",") {
		name, text, _ := strings.Cut(part, "=")
		if name != "cpu" && name != "memory" || text == "" {
			return nil, nil, fmt.Errorf("--requests %s: %q: want cpu=QUANTITY or memory=QUANTITY", f.requests, part)
		}
		err = errors.Join(err, quantity(requests, v1.ResourceName(name), text, "--requests "+part))
	}
	return limits, requests, err
}

func quantity(list v1.ResourceList, name v1.ResourceName, text, where string) error {
	if text == "" {
		return nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return fmt.Errorf("%s: want a quantity above 0, such as 500m for cpu or 256Mi for memory", where)
	}
	list[name] = q
	return nil
}

func (f *resizeFlags) resize(ctx context.Context, pod *client.Pod, limits, requests v1.ResourceList) error {
	container := f.container
	switch names := control.Restartable(pod.Pod); {
	case f.whole || container != "":
	case len(names) != 1:
		return fmt.Errorf("which container? -c %s", strings.Join(names, ", -c "))
	default:
		container = names[0]
	}
	asked, err := pod.Resize(ctx, container, withResources(pod.Pod, container, limits, requests))
	if err != nil {
		return err
	}
	return f.wait.wait(ctx, func(ctx context.Context) error { return pod.AwaitResize(ctx, asked, container) })
}

// withResources is what changes for the container, or for the pod as a whole: a request that equals its
// limit follows it.
func withResources(pod *v1.Pod, container string, limits, requests v1.ResourceList) v1.ResourceRequirements {
	old := control.ResourcesOf(pod, container)
	changed := v1.ResourceRequirements{Limits: limits, Requests: requests}
	for name, quantity := range limits {
		limit, limited := old.Limits[name]
		request, requested := old.Requests[name]
		if _, said := requests[name]; !said && limited && requested && request.Equal(limit) {
			changed.Requests[name] = quantity
		}
	}
	return changed
}
