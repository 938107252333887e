// Command up starts a control plane of real parts for trying things by hand,
// prints where everything is, and ends it at Ctrl-C or SIGTERM. `make
// controlplane` builds the parts.
//
//	go run ./e2e/controlplane/up --dir /tmp/plane --node node-1
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/e2e/controlplane"
)

func main() {
	dir := flag.String("dir", "", "folder for all files, removed at the end (default: a new one for temporary files)")
	nodes := flag.String("node", "node-1", "names of nodes to write kubeconfig files for, with commas between them")
	gates := flag.String("feature-gates", "", "feature gates of all parts: NAME=true,NAME=false")
	flag.Parse()
	signal.Ignore(syscall.SIGPIPE) // whoever stops reading what is printed still wants an orderly end
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, strings.Split(*nodes, ","), *gates); err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, nodes []string, gates string) (err error) {
	config := controlplane.Config{Dir: dir}
	if config.FeatureGates, err = controlplane.ParseGates(gates); err != nil {
		return err
	}
	started := time.Now()
	plane, err := controlplane.Start(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := plane.Close(); err == nil {
			err = closeErr
		}
	}()
	fmt.Printf("ready after %.1f s\n", time.Since(started).Seconds())
	if err := describe(ctx, os.Stdout, plane, nodes); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// describe prints the paths, and writes them to DIR/env for a shell, and the
// process to end to DIR/pid.
func describe(ctx context.Context, w io.Writer, plane *controlplane.ControlPlane, nodes []string) error {
	bootstrap, err := plane.BootstrapKubeconfig(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "API server            %s\nadministrator         %s\nbootstrap             %s\nauthority             %s\n",
		plane.URL(), plane.Kubeconfig(), bootstrap, plane.CAFile())
	for _, node := range nodes {
		path, err := plane.NodeKubeconfig(node)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "node %-16s %s\n", node, path)
	}
	pid, env := filepath.Join(plane.Dir(), "pid"), filepath.Join(plane.Dir(), "env")
	if err := os.WriteFile(pid, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return err
	}
	text := fmt.Sprintf("export KUBECONFIG=%s PATH=%s:$PATH\n", plane.Kubeconfig(), filepath.Dir(plane.Binary("kubectl")))
	if err := os.WriteFile(env, []byte(text), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(w, "logs                  %s/*.log\n. %s               # then kubectl works in this shell\nkill $(cat %s)     # or Ctrl-C ends it\n",
		plane.Dir(), env, pid)
	return nil
}
