package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/bundle"
)

// versionVariable tells the program of clusters which lifepod has become it.
const versionVariable = "LIFEPOD_VERSION"

// newClusterCommands are those of a whole cluster. This process becomes the program
// that has them; their flags and help are there.
func newClusterCommands(code *int) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range []struct{ name, short string }{
		{"up", "Be a whole Kubernetes: API server, scheduler, controllers and this machine's node"},
		{"join", "Make this machine a node of a cluster, by a token"},
		{"kubectl", "Run kubectl on the cluster that up runs"},
		{"token", "Make and show tokens with which machines join the cluster"},
		{"backup", "Write a cluster's state and keys to a file"},
		{"restore", "Make a cluster of a backup"},
	} {
		list = append(list, &cobra.Command{
			Use: c.name, Short: c.short, DisableFlagParsing: true, ValidArgsFunction: completeByCluster,
			RunE: func(command *cobra.Command, args []string) error {
				root, rest := rootOf(args)
				if c.name == "kubectl" && len(rest) > 0 && rest[0] == "lifepod" { // kubectl runs no plugins here
					plugin := newPluginCommand(code, root)
					plugin.SetArgs(rest[1:])
					plugin.SetOut(command.OutOrStdout())
					return plugin.ExecuteContext(command.Context())
				}
				return becomeCluster(os.Args[1:])
			},
		})
	}
	return list
}

// becomeCluster goes on as the program of clusters with these arguments; it returns
// only if that can't be.
func becomeCluster(args []string) error {
	root, err := programRoot(args)
	if err != nil {
		return err
	}
	program, err := bundle.ClusterProgram(root)
	if err != nil {
		return err
	}
	err = syscall.Exec(program, append([]string{"lifepod"}, args...), append(os.Environ(), versionVariable+"="+version))
	return fmt.Errorf("run %s: %w", program, err)
}

// buildKustomization has the program of clusters, whose kubectl can, build what is in a folder.
func (g *global) buildKustomization(dir string) ([]byte, error) {
	root, err := programRoot([]string{"--root", g.root})
	if err != nil {
		return nil, err
	}
	program, err := bundle.ClusterProgram(root)
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	build := exec.Command(program, "kubectl", "kustomize", dir)
	build.Env, build.Stdout, build.Stderr = append(os.Environ(), versionVariable+"="+version), &out, &said
	if err := build.Run(); err != nil {
		return nil, errors.New(cmp.Or(strings.TrimPrefix(strings.TrimSpace(said.String()), "error: "), err.Error()))
	}
	return out.Bytes(), nil
}

// programRoot is the folder that the program is unpacked below: the root of the
// arguments; who may not write there has one of his own.
func programRoot(args []string) (string, error) {
	if os.Geteuid() == 0 {
		root, _ := rootOf(args)
		return root, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", errors.New("no folder for the program of clusters: run it with sudo")
	}
	return filepath.Join(cache, "lifepod"), nil
}

// rootOf finds --root among arguments whose other flags are the program's; rest are those from the first on that is no flag.
func rootOf(args []string) (root string, rest []string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&root, "root", bundle.DefaultRoot, "")
	_ = flags.Parse(args) // what else is wrong the program says
	flags.SetInterspersed(false)
	_ = flags.Parse(args)
	return root, flags.Args()
}
