package realtime

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/footprint"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// simulatedNodes are the flags of lifepod sim nodes.
type simulatedNodes struct {
	played
	kubeconfig, labels, taints, memory string
	scenarioFile                       string // a file
	o                                  nodes.Options
}

// NewNodes is lifepod sim nodes; log makes the log that the user asks for.
func NewNodes(log func() (*slog.Logger, error)) *cobra.Command {
	var n simulatedNodes
	command := &cobra.Command{
		Use:   "nodes --count N --kubeconfig FILE [flags]",
		Short: "Add nodes to a cluster on which pods live without containers",
		Long: `Add nodes to a cluster, as many as one likes in one process, until it is ended. Each is
a full member: it registers its Node, renews its Lease, admits pods, takes them
through their lives by the rules of lifepod agent, and tells the API server of them.
Only containers are pretended; what they do is a scenario, as of lifepod sim. With
--speed 60 a minute of a pod's life takes a second: what its containers do, probes,
back-off, deadlines and grace periods. What happens to the nodes is another scenario
(--node-scenario): which are slow, lose the API server, are rebooted, or are lost.

The Nodes are sim-0, sim-1 … and have the label lifepod.dev/simulated=true. When it is
ended they stay as they are: kubectl delete nodes -l lifepod.dev/simulated removes them.
Docs: docs/sim.md.`,
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) (err error) {
			if n.o.Log, err = log(); err != nil {
				return err
			}
			if err := n.check(); err != nil {
				return err
			}
			return n.run(command.Context(), command.OutOrStdout())
		},
	}
	flags := command.Flags()
	n.flags(flags)
	flags.IntVar(&n.o.Count, "count", 1, "how many nodes: a `number`")
	flags.StringVar(&n.kubeconfig, "kubeconfig", "", "`file` with the credentials of an administrator of the cluster")
	flags.StringVar(&n.scenarioFile, "node-scenario", "", "`file` that says what happens to nodes; its JSON schema is printed by lifepod sim schema --nodes")
	flags.StringVar(&n.o.Prefix, "prefix", "sim-", "begin of the nodes' `names`, after which they are numbered")
	flags.StringVar(&n.labels, "node-labels", "", "labels that the Nodes are registered with: `k=v,…`")
	flags.StringVar(&n.taints, "register-with-taints", "", "taints that the Nodes are registered with: `k=v:effect,…`")
	flags.Float64Var(&n.o.Time.Speed, "speed", 1, "how many times as fast as in real time pods live: a `number` above 0")
	flags.IntVar(&n.o.Size.CPUs, "cpus", 32, "what each node has: a `number` of CPUs")
	flags.StringVar(&n.memory, "memory", "256Gi", "what each node has of memory: a `quantity`")
	flags.Int32Var(&n.o.Size.Pods, "max-pods", 110, "what each node has room for: a `number` of pods")
	flags.IPVar(&n.o.Serve.IP, "node-ip", nil, "`address` of the Nodes, at which the API server reaches this machine for kubectl logs; that of the route to it")
	flags.StringVar(&n.o.Serve.Bind, "address", "", "`address` at which the nodes' API listens; all of this machine")
	flags.Int32Var(&n.o.Serve.Port, "port", 0, "`port` of the nodes' API, one for all nodes; any that is free")
	flags.StringVar(&n.o.Serve.CertFile, "tls-cert-file", "", "`file` with the serving certificate of the nodes' API; without one the cluster signs it")
	flags.StringVar(&n.o.Serve.KeyFile, "tls-private-key-file", "", "`file` with the key of --tls-cert-file")
	command.MarkFlagsRequiredTogether("tls-cert-file", "tls-private-key-file")
	_ = command.MarkFlagRequired("kubeconfig")
	return command
}

func (n *simulatedNodes) check() (err error) {
	switch {
	case n.o.Count < 1:
		return fmt.Errorf("--count %d: want 1 or more", n.o.Count)
	case n.o.Size.CPUs < 1:
		return fmt.Errorf("--cpus %d: want 1 or more", n.o.Size.CPUs)
	case n.o.Size.Pods < 1:
		return fmt.Errorf("--max-pods %d: want 1 or more", n.o.Size.Pods)
	case n.o.Prefix == "":
		return fmt.Errorf("--prefix: want the begin of a name, such as sim-")
	}
	if err := live.CheckSpeed(n.o.Time.Speed); err != nil {
		return fmt.Errorf("--speed %w", err)
	}
	if err := checkServe(n.o.Serve); err != nil {
		return err
	}
	memory, err := resource.ParseQuantity(n.memory)
	if err != nil || memory.Sign() <= 0 {
		return fmt.Errorf("--memory %s: want a quantity such as 256Gi", n.memory)
	}
	n.o.Size.MemoryBytes = memory.Value()
	if n.o.Labels, err = register.ParseLabels(n.labels); err != nil {
		return err
	}
	if n.o.Taints, err = register.ParseTaints(n.taints); err != nil {
		return err
	}
	scenarios, err := file.ReadScenarios(n.scenarios, live.Check)
	if err != nil {
		return err
	}
	n.o.Pods = &live.Pods{Scenarios: scenarios, Seed: n.seed}
	if n.scenarioFile != "" {
		if n.o.Faults.Scenario, err = nodefaults.ReadFile(n.scenarioFile, nodes.Names(n.o.Prefix, n.o.Count)); err != nil {
			return err
		}
	}
	if n.o.API, err = clientcmd.BuildConfigFromFlags("", n.kubeconfig); err != nil {
		return fmt.Errorf("--kubeconfig %s: %w", n.kubeconfig, err)
	}
	return nil
}

// checkServe checks the flags of the nodes' API.
func checkServe(s nodes.Serve) error {
	switch {
	case s.Port < 0 || s.Port > 65535:
		return fmt.Errorf("--port %d: want a port from 1 to 65535, or 0", s.Port)
	case s.Bind != "" && net.ParseIP(s.Bind) == nil:
		return fmt.Errorf("--address %s: want an IP address", s.Bind)
	case s.IP != nil && s.IP.IsUnspecified():
		return fmt.Errorf("--node-ip %s: want the address at which the API server reaches this machine", s.IP)
	}
	return nil
}

// run is the nodes until ctx ends.
func (n *simulatedNodes) run(ctx context.Context, out io.Writer) error {
	defer footprint.NewPace().Stop()
	began, before := time.Now(), held()
	lines := &lines{out: out}
	n.o.Pods.Output = lines.written
	n.o.Faults.Tell = func(node, what string) { lines.print("%s %s", node, what) }
	return nodes.Run(ctx, n.o, func() {
		each := (max(before, held()) - before) / uint64(n.o.Count) //nolint:gosec // it is 1 or more
		took := time.Since(began).Round(10 * time.Millisecond)
		lines.print("%d nodes are members of the cluster after %v, with %d KiB each", n.o.Count, took, each>>10)
	})
}

// held is what the process holds of memory, without what the collector would free.
func held() uint64 {
	footprint.GiveBack() // collects
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// lines prints a line at a time.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) print(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, format+"\n", args...)
}

func (l *lines) written(pod *v1.Pod, container, _, text string) {
	l.print("%s/%s %s: %s", pod.Namespace, pod.Name, container, plain.Text(text))
}
