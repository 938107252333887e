package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/jsonpath"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
)

func newWaitCommand(g *global) *cobra.Command {
	var on *onPod
	var wanted string
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "wait [flags] POD --for=condition=Ready|delete|jsonpath={.status.phase}=Succeeded",
		Short: "Wait until a pod is Ready, has another condition, or is gone",
		Long: `Wait until a pod has a condition (--for=condition=Ready, or =Ready=False), is gone
(--for=delete), or a field of it has a value (--for=jsonpath={.status.podIP}=10.0.0.2),
as kubectl wait does. Exit code 124: it has not come within --timeout.`,
		Args: onePod,
		RunE: func(command *cobra.Command, args []string) error {
			is, err := parseFor(wanted)
			if err != nil {
				return err
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err == nil {
				w := waiting{timeout: timeout, until: wanted}
				err = w.wait(ctx, func(ctx context.Context) error { return awaitPod(ctx, pod, wanted, is) })
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	command.Flags().StringVar(&wanted, "for", "", "`what`: condition=TYPE, delete, or jsonpath={…}=VALUE")
	_ = command.RegisterFlagCompletionFunc("for", cobra.FixedCompletions( // it is there
		[]string{"condition=Ready", "delete", "jsonpath={.status.phase}=Succeeded"}, cobra.ShellCompDirectiveNoFileComp))
	commandline.DurationVar(command.Flags(), &timeout, "timeout", 30*time.Second, "wait no longer than this `duration`; 0: as long as it takes")
	return command
}

// awaitPod waits until the pod is as wanted; is is nil if that is gone.
func awaitPod(ctx context.Context, pod *client.Pod, wanted string, is func(*v1.Pod) bool) error {
	if is == nil {
		return pod.Wait(ctx)
	}
	met := false
	err := pod.Watch(ctx, func(now *v1.Pod) bool {
		met = is(now)
		return !met
	})
	if err == nil && !met {
		err = fmt.Errorf("pod %s/%s has ended, and %s has not come: lifepod why %s", pod.Namespace, pod.Name, wanted, pod.Name)
	}
	return err
}

// parseFor reads --for; nil is that the pod is gone.
func parseFor(text string) (func(*v1.Pod) bool, error) {
	kind, rest, _ := strings.Cut(text, "=")
	switch {
	case text == "delete":
		return nil, nil
	case kind == "condition" && rest != "":
		name, status, has := strings.Cut(rest, "=")
		if !has {
			status = string(v1.ConditionTrue)
		}
		return func(pod *v1.Pod) bool {
			for _, c := range pod.Status.Conditions {
				if strings.EqualFold(string(c.Type), name) {
					return strings.EqualFold(string(c.Status), status)
				}
			}
			return false
		}, nil
	case kind == "jsonpath":
		if end := strings.LastIndex(rest, "}="); end >= 0 {
			return fieldIs(rest[:end+1], rest[end+2:])
		}
	}
	return nil, fmt.Errorf("--for %q: want condition=TYPE, such as condition=Ready, delete, or jsonpath={.status.phase}=VALUE", text)
}

// fieldIs is that the field at a path has a value.
func fieldIs(path, value string) (func(*v1.Pod) bool, error) {
	if _, err := jsonpath.Parse("for", path); err != nil {
		return nil, fmt.Errorf("--for jsonpath=%s: %w", path, err)
	}
	return func(pod *v1.Pod) bool {
		is, err := evaluate("jsonpath", path, pod)
		return err == nil && is == value
	}, nil
}
