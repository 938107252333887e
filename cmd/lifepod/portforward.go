package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control/client"
)

func newPortForwardCommand(g *global) *cobra.Command {
	var on *onPod
	var addresses []string
	command := &cobra.Command{
		Use:   "port-forward [flags] POD|KIND/NAME [LOCAL:]REMOTE…",
		Short: "Forward TCP ports of this machine to a pod, also to its loopback address",
		Long: `Forward TCP ports of this machine to a pod, also to its loopback address, until Ctrl-C.

REMOTE is a port of the pod, or the name of one in its spec. LOCAL is the same one
unless it is given; nothing before the colon is a free one.

service/NAME, of the cluster of lifepod up or of a lifepod run, is the first of its pods
on this machine that is Ready, and REMOTE a port of the Service. So are deployment/NAME,
statefulset/NAME, replicaset/NAME and daemonset/NAME of the cluster, with the pod's ports.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || args[0] == "" {
				return errors.New("want a pod and its ports, such as lifepod port-forward web 8080:80")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			pod, service, err := on.findBehind(ctx, args[0])
			if err == nil {
				err = forwardPorts(command, pod, service, addresses, args[1:])
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	command.Flags().StringSliceVar(&addresses, "address", []string{"127.0.0.1"}, "listen at these IP `addresses` of this machine, for others as well as for its own users")
	return command
}

// acceptPause is how long no connection is taken when there is no room for one.
const acceptPause = 100 * time.Millisecond

// forwardPorts forwards until the pod is gone or the context ends.
func forwardPorts(command *cobra.Command, pod *client.Pod, service *v1.Service, addresses, specs []string) error {
	var accepting sync.WaitGroup
	defer accepting.Wait()
	ctx := command.Context()
	for _, spec := range specs {
		local, remote, err := forwardedPort(pod.Pod, service, spec)
		if err != nil {
			return err
		}
		for _, address := range addresses {
			l, err := listenAt(ctx, address, local)
			if err != nil {
				return fmt.Errorf("port %s: %w", spec, err)
			}
			defer func() { _ = l.Close() }() // it has served
			fmt.Fprintf(command.OutOrStdout(), "Forwarding from %s -> %d\n", l.Addr(), remote)
			accepting.Go(func() { forwardAll(command, pod, l, remote) })
		}
	}
	if err := pod.Wait(ctx); err != nil {
		return err
	}
	return fmt.Errorf("pod %s/%s is gone", pod.Namespace, pod.Name)
}

func listenAt(ctx context.Context, address string, port int32) (net.Listener, error) {
	if address == "localhost" {
		address = "127.0.0.1"
	}
	if net.ParseIP(address) == nil {
		return nil, fmt.Errorf("--address %q: want an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all", address)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(int(port))))
}

// forwardAll forwards each connection until the listener is closed.
func forwardAll(command *cobra.Command, pod *client.Pod, l net.Listener, remote int32) {
	ctx := command.Context()
	for {
		from, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // there are too many connections
			time.Sleep(acceptPause)
			continue
		}
		go func() {
			if err := forward(ctx, pod, remote, from); err != nil && ctx.Err() == nil {
				warn(command.ErrOrStderr(), "port %d: %v", remote, err)
			}
		}()
	}
}

// forwardedPort reads [LOCAL:]REMOTE, which is a port of the Service, if there is one.
func forwardedPort(pod *v1.Pod, service *v1.Service, spec string) (local, remote int32, err error) {
	before, after, both := strings.Cut(spec, ":")
	if !both {
		after = before
	}
	if service != nil {
		local, remote, err = servicePort(service, pod, after)
	} else {
		remote, err = portOf(pod, after)
		local = remote
	}
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("port %s: %w", spec, err)
	case !both:
		return local, remote, nil
	case before == "" || before == "0":
		return 0, remote, nil
	}
	number, err := strconv.ParseUint(before, 10, 16)
	if err != nil {
		return 0, 0, fmt.Errorf("port %s: %q is not a port of this machine, want a number up to 65535, or nothing for a free one", spec, before)
	}
	return int32(number), remote, nil
}

// portOf is a port of the pod by its number or name.
func portOf(pod *v1.Pod, text string) (int32, error) {
	if number, err := strconv.ParseUint(text, 10, 16); err == nil && number > 0 {
		return int32(number), nil
	}
	var names []string
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, port := range c.Ports {
			if port.Name == text && text != "" {
				return port.ContainerPort, nil
			}
			if port.Name != "" {
				names = append(names, port.Name)
			}
		}
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%q is no port from 1 to 65535, and the pod's ports have no names", text)
	}
	return 0, fmt.Errorf("%q is neither a port from 1 to 65535 nor one of the pod's: %s", text, strings.Join(names, ", "))
}

// forward connects one connection with the pod until both directions are over.
func forward(ctx context.Context, pod *client.Pod, port int32, from net.Conn) error {
	defer from.Close()
	to, err := pod.Dial(ctx, port)
	if err != nil {
		return err
	}
	defer to.Close()
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, err := io.Copy(ends[0], ends[1])
			if half, ok := ends[0].(*net.TCPConn); err != nil || !ok || half.CloseWrite() != nil {
				_, _ = from.Close(), to.Close() // one of them has gone
			}
		})
	}
	both.Wait()
	return nil
}
