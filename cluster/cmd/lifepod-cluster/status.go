package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/grpclog"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

func newStatusCommand(g *global) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show the cluster that up runs",
		Args:  commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("unknown output %q: want json", output)
			}
			grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) // an etcd that does not answer is reported as an alarm
			status, err := cluster.Look(command.Context(), cluster.Config{Root: g.root})
			if err != nil {
				return err
			}
			if output == "json" {
				text, err := json.MarshalIndent(status, "", "  ")
				if err == nil {
					_, err = fmt.Fprintf(command.OutOrStdout(), "%s\n", plain.JSON(text))
				}
				return err
			}
			return printStatus(command.OutOrStdout(), g.root, status)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: json instead of text")
	return command
}

// printIdle shows a state folder whose cluster does not run.
func printIdle(w io.Writer, root string, s cluster.Status) {
	switch {
	case s.Joined == "":
		fmt.Fprintf(w, "Cluster:\tdoes not run; %s starts it\n", bundle.Command(root, "up"))
	case s.Joining == 0:
		fmt.Fprintf(w, "Node:\tof %s; %s does not run, and starts it\n", s.Joined, bundle.Command(root, "join"))
	default:
		fmt.Fprintf(w, "Node:\tof %s; process %d\n", s.Joined, s.Joining)
	}
	if s.Unattended > 0 {
		fmt.Fprintf(w, "Pods:\t%d run on; %s lists them\n", s.Unattended, bundle.Command(root, "ps"))
	}
}

func printStatus(out io.Writer, root string, s cluster.Status) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if s.Process == 0 {
		printIdle(w, root, s)
		return w.Flush()
	}
	fmt.Fprintf(w, "Process:\t%d, %d MiB resident\n", s.Process, s.Resident>>20)
	fmt.Fprintf(w, "Server:\t%s, %s\n", s.Server, s.API)
	fmt.Fprintf(w, "Kubeconfig:\t%s\n", s.Kubeconfig)
	for _, node := range s.Nodes {
		fmt.Fprintf(w, "Node:\t%s, %s, %s\n", plain.Line(node.Name), plain.Line(node.State), plain.Line(node.Version))
	}
	fmt.Fprintf(w, "Pods:\t%d, %d of them running\n", s.Pods, s.Running)
	if len(s.Etcd) > 0 {
		fmt.Fprintf(w, "State:\ton %s\n", strings.Join(s.Etcd, ", "))
	} else {
		fmt.Fprintf(w, "State:\t%.1f MiB, %d MiB free\n", float64(s.Stored)/(1<<20), s.Free>>20)
	}
	fmt.Fprintf(w, "Volumes:\t%d MiB free\n", s.FreeVolumes>>20)
	for _, alarm := range s.Alarms {
		fmt.Fprintf(w, "Alarm:\t%s\n", plain.Line(alarm))
	}
	for _, addon := range s.Addons {
		fmt.Fprintf(w, "Add-on not applied:\t%s\n", plain.Line(addon))
	}
	return w.Flush()
}
