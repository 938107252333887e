package netbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// grpc-health serves grpc.health.v1.Health for the empty service name and those
// named.
func grpcHealth(c *toolbox.Call) int {
	flags := c.Flags("[--port N] [--service NAME]… [--ready-after DURATION] [--healthy-for DURATION]")
	port := flags.Int("port", 5000, "TCP port")
	services := flags.StringArray("service", nil, "a service name to answer for, beside the empty one")
	apply := c.EndingFlags(flags)
	h := healthFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	apply()
	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(*port)))
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprintf(c.Stdout, "serving on %s\n", listener.Addr())
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, reporter(h, append([]string{""}, *services...)))
	return c.Fail(1, server.Serve(listener))
}

// reporter keeps the status of the services in step with the clock.
func reporter(h *health, services []string) *grpchealth.Server {
	server := grpchealth.NewServer()
	set := func(status healthpb.HealthCheckResponse_ServingStatus) {
		for _, service := range services {
			server.SetServingStatus(service, status)
		}
	}
	if h.readyAfter > 0 {
		set(healthpb.HealthCheckResponse_NOT_SERVING)
		time.AfterFunc(h.readyAfter, func() { set(healthpb.HealthCheckResponse_SERVING) })
	} else {
		set(healthpb.HealthCheckResponse_SERVING)
	}
	if h.healthyFor > 0 {
		time.AfterFunc(h.healthyFor, func() { set(healthpb.HealthCheckResponse_NOT_SERVING) })
	}
	return server
}

// grpc-check HOST:PORT: prints the status, 1 unless it is SERVING.
func grpcCheck(c *toolbox.Call) int {
	flags := c.Flags("[--service NAME] [--timeout DURATION] HOST:PORT")
	service := flags.String("service", "", "the service to ask about")
	timeout := flags.Duration("timeout", 5*time.Second, "how long to wait")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	if flags.NArg() != 1 {
		return c.Fail(toolbox.Usage, errors.New("want HOST:PORT"))
	}
	conn, err := grpc.NewClient("passthrough:///"+flags.Arg(0), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return c.Fail(1, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	response, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: *service})
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprintln(c.Stdout, response.Status)
	if response.Status != healthpb.HealthCheckResponse_SERVING {
		return 1
	}
	return 0
}
