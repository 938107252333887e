package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	units "github.com/docker/go-units"
	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// topOver is the time over which the use of CPU is measured.
const topOver = time.Second

func newTopCommand(g *global) *cobra.Command {
	var w which
	command := &cobra.Command{
		Use:   "top [flags]",
		Short: "Show how much CPU and memory the containers of this machine's pods use",
		Long: `Show how much CPU and memory the containers of this machine's pods use: CPU in
thousandths of a core, over a second, memory as what can't be taken back (the working
set, by which the kubelet evicts, and which a limit is about).`,
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			wanted, err := w.names(command.Context(), g)
			if err != nil {
				return err
			}
			return withImages(command.Context(), g.openImages, func(session *imageSession) error {
				before, err := usages(command.Context(), session.Runtime)
				if err != nil {
					return err
				}
				select {
				case <-command.Context().Done():
					return context.Cause(command.Context())
				case <-time.After(topOver):
				}
				now, err := usages(command.Context(), session.Runtime)
				if err != nil {
					return err
				}
				return client.Table(command.OutOrStdout(), []string{"NAMESPACE", "POD", "CONTAINER", "CPU", "MEMORY"}, topRows(before, now, wanted))
			})
		},
	}
	w.add(command)
	return command
}

// names says whether a pod is wanted that only its name is known of.
func (w *which) names(ctx context.Context, g *global) (wanted func(namespace, name string) bool, err error) {
	c, err := g.pods()
	if err != nil {
		return nil, err
	}
	attended, _, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	all, err := w.of(attended, c.Unattended(attended))
	return func(namespace, name string) bool {
		return w.labels == "" && (w.namespace == "" || namespace == w.namespace) ||
			slices.ContainsFunc(all.pods, func(p *v1.Pod) bool { return p.Namespace == namespace && p.Name == name })
	}, err
}

// usage is what a container has used until a time.
type usage struct {
	namespace, pod, container string
	at                        time.Time
	cpu                       time.Duration
	memory                    uint64 // bytes
}

// usages says what each running container has used, by its ID.
func usages(ctx context.Context, runtime runtimeapi.RuntimeServiceClient) (map[string]usage, error) {
	answer, err := runtime.ListContainerStats(ctx, &runtimeapi.ListContainerStatsRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the runtime what containers use: %w", err)
	}
	all := map[string]usage{}
	for _, s := range answer.Stats {
		labels := s.GetAttributes().GetLabels()
		all[s.GetAttributes().GetId()] = usage{
			namespace: labels[criconfig.PodNamespaceLabel], pod: labels[criconfig.PodNameLabel],
			container: labels[criconfig.ContainerNameLabel],
			at:        time.Unix(0, s.GetCpu().GetTimestamp()), cpu: time.Duration(s.GetCpu().GetUsageCoreNanoSeconds().GetValue()),
			memory: s.GetMemory().GetWorkingSetBytes().GetValue(),
		}
	}
	return all, nil
}

// topRows has a row for each container; what one has used is not known unless it ran at both times.
func topRows(before, now map[string]usage, wanted func(namespace, name string) bool) (rows [][]string) {
	for id, u := range now {
		if !wanted(u.namespace, u.pod) {
			continue
		}
		cores := ""
		if over := u.at.Sub(before[id].at); before[id].container != "" && over > 0 {
			cores = fmt.Sprintf("%dm", (u.cpu-before[id].cpu)*1000/over)
		}
		rows = append(rows, []string{u.namespace, u.pod, u.container, cores, units.BytesSize(float64(u.memory))})
	}
	slices.SortFunc(rows, slices.Compare)
	return rows
}
