package netbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// listen accepts TCP connections, says the host's name and closes them.
func listen(c *toolbox.Call) int {
	flags := c.Flags("[--port N] [--after DURATION]")
	port := flags.Int("port", 9000, "TCP port")
	after := flags.Duration("after", 0, "open the port only then")
	apply := c.EndingFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	apply()
	time.Sleep(*after)
	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(*port)))
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprintf(c.Stdout, "listening on %s\n", listener.Addr())
	name, err := os.Hostname()
	if err != nil {
		return c.Fail(1, err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return c.Fail(1, err)
		}
		fmt.Fprintln(conn, name)
		conn.Close()
	}
}

// dial HOST:PORT: 1 if no connection comes about.
func dial(c *toolbox.Call) int {
	flags := c.Flags("[--timeout DURATION] HOST:PORT")
	timeout := flags.Duration("timeout", 5*time.Second, "how long to wait")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	if flags.NArg() != 1 {
		return c.Fail(toolbox.Usage, errors.New("want HOST:PORT"))
	}
	conn, err := net.DialTimeout("tcp", flags.Arg(0), *timeout)
	if err != nil {
		return c.Fail(1, err)
	}
	conn.Close()
	return 0
}

// lookup NAME: its addresses, one a line.
func lookup(c *toolbox.Call) int {
	if len(c.Args) != 1 {
		return c.Fail(toolbox.Usage, errors.New("want NAME"))
	}
	addresses, err := net.DefaultResolver.LookupHost(context.Background(), c.Args[0])
	if err != nil {
		return c.Fail(1, err)
	}
	for _, address := range addresses {
		fmt.Fprintln(c.Stdout, address)
	}
	return 0
}
