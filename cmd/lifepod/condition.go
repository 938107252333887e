package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control/client"
)

func newConditionCommand(g *global) *cobra.Command {
	var on *onPod
	var c v1.PodCondition
	command := &cobra.Command{
		Use:   "condition [flags] POD TYPE=True|False|Unknown",
		Short: "Set a condition of a pod, such as one that its readinessGates name",
		Long: `Set a condition of a pod, such as one that its readinessGates name: with all its
containers ready, the pod is Ready when each of them is True. TYPE- removes one.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] == "" {
				return errors.New("want a pod and a condition: lifepod condition POD TYPE=True|False|Unknown, or TYPE-")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			if err := parseCondition(args[1], &c); err != nil {
				return err
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err == nil {
				err = pod.SetCondition(ctx, c)
			}
			if err == nil && c.Status != "" {
				warnUngated(command, pod, c.Type)
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	command.ValidArgsFunction = g.completeCondition
	command.Flags().StringVar(&c.Reason, "reason", "", "the condition's `reason`, one word in CamelCase")
	command.Flags().StringVar(&c.Message, "message", "", "the condition's `message`")
	return command
}

// parseCondition reads TYPE=STATUS or TYPE-.
func parseCondition(text string, c *v1.PodCondition) error {
	kind, status, found := strings.Cut(text, "=")
	if !found && strings.HasSuffix(text, "-") {
		c.Type = v1.PodConditionType(strings.TrimSuffix(text, "-"))
		return nil
	}
	c.Type, c.Status = v1.PodConditionType(kind), v1.ConditionStatus(status)
	known := []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}
	if kind == "" || !slices.Contains(known, c.Status) {
		return fmt.Errorf("condition %q: want TYPE=True, TYPE=False or TYPE=Unknown, or TYPE- to remove it", text)
	}
	return nil
}

// warnUngated tells of a condition that nothing waits for.
func warnUngated(command *cobra.Command, pod *client.Pod, kind v1.PodConditionType) {
	gated := slices.ContainsFunc(pod.Spec.ReadinessGates, func(g v1.PodReadinessGate) bool { return g.ConditionType == kind })
	if !gated {
		warn(command.ErrOrStderr(), "spec.readinessGates does not name %s: it does not count for Ready", kind)
	}
}
