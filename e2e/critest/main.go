package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/e2e/critest/images"
)

type options struct {
	program string // critest
	busybox string
	nginx   string
	focus   string
	handler string
	list    string
	update  bool
}

func main() {
	var o options
	flag.StringVar(&o.program, "critest", ".cache/critest/critest", "upstream's `program`")
	flag.StringVar(&o.busybox, "busybox", ".cache/conformance/bin/busybox", "the `program` that most images have")
	flag.StringVar(&o.nginx, "nginx", ".cache/critest/nginx.tar", "`archive` of a Debian with nginx")
	flag.StringVar(&o.focus, "focus", "", "only tests whose names match this `expression`; nothing is compared then")
	flag.StringVar(&o.handler, "runtime", "", "what makes containers: runc, or crun")
	flag.StringVar(&o.list, "list", "e2e/critest/expected.txt", "`file` of what is skipped, left out or fails, with the reasons")
	flag.BoolVar(&o.update, "update", false, "write the list anew; what is left out stays, and new failures have to be given a reason")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "critest:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	expected, err := readList(o.list)
	if err != nil {
		return err
	}
	if o.program, err = filepath.Abs(o.program); err != nil { // it runs in another folder
		return err
	}
	root, err := os.MkdirTemp("", "lifepod-critest-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	closeRegistry, err := images.Serve(listener, root, images.Parts{Busybox: o.busybox, Nginx: o.nginx})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, closeRegistry()) }()
	found, err := validate(ctx, o, root, expected.leftOut())
	if err != nil {
		return err
	}
	found.print(os.Stdout)
	switch {
	case o.focus != "":
		return nil
	case o.update:
		return os.WriteFile(o.list, []byte(expected.with(found)), 0o644) //nolint:gosec // it is a part of the sources
	}
	return expected.compare(found)
}

// removePods ends what tests that failed have left.
func removePods(ctx context.Context, endpoint string) error {
	client, err := cri.Dial(endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // no call is under way
	left, err := client.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	for _, sandbox := range left.Items {
		if _, err := client.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox.Id}); err != nil {
			return err
		}
		if _, err := client.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox.Id}); err != nil {
			return err
		}
	}
	return nil
}

// validate runs the tests on a runtime that is there for them alone.
func validate(ctx context.Context, o options, root, leaveOut string) (r report, err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	runtime, err := bundle.Open(ctx, bundle.Config{Root: root, OCIRuntime: bundle.OCIRuntime(o.handler), Log: log})
	if err != nil {
		return r, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, removePods(closing, runtime.Endpoint()), runtime.Close(closing))
	}()
	if _, err := runtime.ImportImages(ctx); err != nil {
		return r, err
	}
	file := filepath.Join(root, "critest.json")
	arguments := []string{
		"-runtime-endpoint", runtime.Endpoint(), "-runtime-handler", runtime.Handler(), "-config", filepath.Join(root, "none"),
		"-ginkgo.json-report", file, "-ginkgo.no-color", "-ginkgo.seed=1", "-ginkgo.poll-progress-after=0s",
	}
	if leaveOut != "" {
		arguments = append(arguments, "-ginkgo.skip", leaveOut)
	}
	if o.focus != "" {
		arguments = append(arguments, "-ginkgo.focus", o.focus)
	}
	tests := exec.CommandContext(ctx, o.program, arguments...)
	tests.Dir = root // where it looks for a configuration
	tests.Stdout, tests.Stderr = os.Stderr, os.Stderr
	tests.Cancel = func() error { return tests.Process.Signal(os.Interrupt) }
	tests.WaitDelay = time.Minute
	ran := tests.Run()
	if _, failed := errors.AsType[*exec.ExitError](ran); ran != nil && !failed {
		return r, ran
	}
	if r, err = readReport(file); err != nil {
		return r, errors.Join(ran, err)
	}
	return r, nil
}
