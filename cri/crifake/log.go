package crifake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// openLog makes the file of a container that is started, as runtimes do.
func (c *container) openLog() {
	if c.sandbox.config.LogDirectory != "" && c.config.LogPath != "" {
		c.write("")
	}
}

// say writes a line to the container's log.
func (c *container) say(stream, line string) {
	c.write(fmt.Sprintf("%s %s F %s\n", time.Now().Format(time.RFC3339Nano), stream, line))
}

// write appends to the file that has the log's name now. The folder of a pod that ends may be gone.
func (c *container) write(text string) {
	path := filepath.Join(c.sandbox.config.LogDirectory, c.config.LogPath)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		panic(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		panic(err)
	}
}

// ReopenContainerLog makes the file of a running container's log if it is missing.
func (r *Runtime) ReopenContainerLog(
	ctx context.Context, in *runtimeapi.ReopenContainerLogRequest, _ ...callOption,
) (*runtimeapi.ReopenContainerLogResponse, error) {
	return ask(ctx, r, call{rpc: "ReopenContainerLog", subject: r.subjectOf(in.ContainerId)}, func(*runtimeapi.ReopenContainerLogResponse) error {
		c := r.container(in.ContainerId)
		switch {
		case c == nil:
			return notFound(in.ContainerId)
		case c.state != runtimeapi.ContainerState_CONTAINER_RUNNING:
			return status.Error(codes.Unknown, "container is not running")
		}
		c.openLog()
		return nil
	})
}
