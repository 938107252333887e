package token

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

// defaultTTL is kubeadm's.
const defaultTTL = 24 * time.Hour

type access struct {
	kubeconfigOf func(root string) (string, error)
	kubeconfig   string
}

// NewCommand is "lifepod token". kubeconfigOf says where the cluster of a root folder
// has its administrator's. --root is a flag of the commands above.
func NewCommand(kubeconfigOf func(root string) (string, error)) *cobra.Command {
	a := &access{kubeconfigOf: kubeconfigOf}
	command := &cobra.Command{
		Use:   "token",
		Short: "Invite other machines to the cluster",
		Long: `Make, list and delete tokens with which other machines join the cluster.

A token is a secret: whoever has it can become a node, until it expires or is
deleted. Nodes that have joined don't need it any more.`,
	}
	flags := command.PersistentFlags()
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "administrator's credentials: `file`; those of the cluster of --root if empty")
	command.AddCommand(a.create(), a.list(), a.delete())
	return commandline.Group(command)
}

func (a *access) client(command *cobra.Command) (kubernetes.Interface, error) {
	path := a.kubeconfig
	if path == "" {
		var err error
		if path, err = a.kubeconfigOf(command.Flag("root").Value.String()); err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return nil, fmt.Errorf("there is no cluster yet, it would have the kubeconfig %s: begin it with lifepod up", path)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	return kubernetes.NewForConfig(config)
}

func (a *access) create() *cobra.Command {
	var (
		ttl         time.Duration
		description string
		invite      bool
	)
	command := &cobra.Command{
		Use:   "create [--ttl 24h] [--print-join-command]",
		Short: "Make a token and print it",
		Args:  commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			if ttl < 0 {
				return fmt.Errorf("--ttl %s: want 0, for ever, or more", ttl)
			}
			client, err := a.client(command)
			if err != nil {
				return err
			}
			text, err := Create(command.Context(), client, ttl, description)
			if err == nil && invite {
				text, err = Invitation(command.Context(), client, text)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), text)
			return err
		},
	}
	commandline.DurationVar(command.Flags(), &ttl, "ttl", defaultTTL, "how long the token is good for; 0 is for ever")
	command.Flags().StringVar(&description, "description", "", "what the token is for, `text` that list shows")
	command.Flags().BoolVar(&invite, "print-join-command", false, "print the whole command with which another machine joins")
	return command
}

// completionTime is how long a shell that completes a line waits for the API server.
const completionTime = time.Second

// complete completes the IDs of tokens.
func (a *access) complete(command *cobra.Command, _ []string, _ string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	client, err := a.client(command)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	tokens, err := List(ctx, client)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, t := range tokens {
		ids = append(ids, cobra.CompletionWithDesc(t.ID, t.Description))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func (a *access) list() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their secrets",
		Args:  commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			client, err := a.client(command)
			if err != nil {
				return err
			}
			tokens, err := List(command.Context(), client)
			if err != nil {
				return err
			}
			return table(command.OutOrStdout(), tokens, time.Now())
		},
	}
}

func table(out io.Writer, tokens []Token, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tTTL\tEXPIRES\tDESCRIPTION")
	for _, t := range tokens {
		ttl, expires := "forever", "never"
		if !t.Expires.IsZero() {
			ttl, expires = duration.HumanDuration(t.Expires.Sub(now)), t.Expires.Format(time.RFC3339)
			if now.After(t.Expires) {
				ttl = "expired"
			}
		}
		description := t.Description
		if description == "" {
			description = "<none>"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, ttl, expires, plain.Line(description))
	}
	return w.Flush()
}

func (a *access) delete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID…",
		Short: "Delete tokens: nobody joins with them any more",
		Args:  commandline.Arguments(1, -1),

		ValidArgsFunction: a.complete,

		RunE: func(command *cobra.Command, ids []string) error {
			client, err := a.client(command)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := Delete(command.Context(), client, id); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
