package netbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// fetch URL: the answer on standard output, 1 if its status is 400 or more.
func fetch(c *toolbox.Call) error {
	timeout := c.Flags.Duration("timeout", 10*time.Second, "for the whole exchange")
	args, err := c.Parse("[--timeout DURATION] URL", 1, 1)
	if err != nil {
		return err
	}
	url := args[0]
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	answer, err := (&http.Client{Timeout: *timeout}).Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(c.Stdout, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}

// dial HOST:PORT: 1 if no connection comes about.
func dial(c *toolbox.Call) error {
	timeout := c.Flags.Duration("timeout", 5*time.Second, "how long to wait")
	args, err := c.Parse("[--timeout DURATION] HOST:PORT", 1, 1)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("tcp", args[0], *timeout)
	if err != nil {
		return err
	}
	return conn.Close()
}

// lookup NAME: its addresses, one a line.
func lookup(c *toolbox.Call) error {
	args, err := c.Parse("NAME", 1, 1)
	if err != nil {
		return err
	}
	addresses, err := net.DefaultResolver.LookupHost(context.Background(), args[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, strings.Join(addresses, "\n"))
	return err
}
