package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/internal/pidfd"
	"github.com/lifepod/lifepod/worker/handler"
)

const (
	processType = "types.containerd.io/opencontainers/runtime-spec/1/Process"
	// lastOutput is how long what a command has written may take to come once it has ended: what it started may write on.
	lastOutput = time.Second
)

// ExecAs is Exec as another user than the container's, USER[:GROUP]. CRI has no call for that: containerd is asked, at its socket, for a
// process like the container's own, but for the user. When ctx ends the command is ended.
func (p *Pod) ExecAs(ctx context.Context, socket, container, user string, command []string, s Streams) (int, error) {
	container = cmp.Or(container, control.DefaultContainer(p.Pod))
	own, err := p.Process(ctx, container)
	if err != nil {
		return 0, err
	}
	tree, err := OpenTree(own)
	if err != nil {
		return 0, err
	}
	who, err := userOf(tree, user)
	if err = errors.Join(err, tree.Close()); err != nil {
		return 0, err
	}
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	_, id, _ := strings.Cut(control.StatusOf(p.Pod, container).ContainerID, "://")
	e := &execution{tasks: tasksapi.NewTasksClient(conn), container: id, id: "lifepod-" + rand.Text(), own: own, streams: s}
	calls := metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io")
	answer, err := containersapi.NewContainersClient(conn).Get(calls, &containersapi.GetContainerRequest{ID: id})
	if code := status.Code(err); code == codes.Unimplemented || code == codes.Unavailable || code == codes.NotFound {
		return 0, fmt.Errorf("the container is not one of the containerd at %s, and CRI can't run a command as another user", socket)
	}
	if err != nil {
		return 0, err
	}
	spec, err := processLike(answer.GetContainer().GetSpec().GetValue(), who, command, s.TTY)
	if err != nil {
		return 0, err
	}
	code, err := e.run(calls, spec)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return code, err
}

// execution is a command in a container.
type execution struct {
	tasks         tasksapi.TasksClient
	container, id string
	own           pidfd.ID // the container's first process
	streams       Streams
}

func (e *execution) run(ctx context.Context, spec []byte) (int, error) {
	dir, err := os.MkdirTemp("/run", "lifepod-exec-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	request := &tasksapi.ExecProcessRequest{ContainerID: e.container, ExecID: e.id, Terminal: e.streams.TTY, Spec: &anypb.Any{TypeUrl: processType, Value: spec}}
	var in, out, stderr *os.File
	for _, f := range []struct {
		used bool
		name string
		mode int
		path *string
		file **os.File
	}{
		{e.streams.Stdin != nil, "in", unix.O_RDWR, &request.Stdin, &in},
		{e.streams.Stdout != nil, "out", unix.O_RDONLY, &request.Stdout, &out},
		{e.streams.Stderr != nil && !e.streams.TTY, "err", unix.O_RDONLY, &request.Stderr, &stderr},
	} {
		if !f.used {
			continue
		}
		*f.path = filepath.Join(dir, f.name)
		if err := unix.Mkfifo(*f.path, 0o600); err != nil {
			return 0, err
		}
		if *f.file, err = os.OpenFile(*f.path, f.mode|unix.O_NONBLOCK, 0); err != nil {
			return 0, err
		}
		defer (*f.file).Close()
	}
	if _, err := e.tasks.Exec(ctx, request); err != nil {
		return 0, err
	}
	lasting := context.WithoutCancel(ctx)
	defer func() {
		_, _ = e.tasks.DeleteProcess(lasting, &tasksapi.DeleteProcessRequest{ContainerID: e.container, ExecID: e.id}) // one that runs goes with the container
	}()
	started, err := e.tasks.Start(ctx, &tasksapi.StartRequest{ContainerID: e.container, ExecID: e.id})
	if err != nil {
		return startFailure(errors.New(status.Convert(err).Message()))
	}
	defer context.AfterFunc(ctx, func() {
		_ = handler.End(e.container, e.own.PID, int(started.GetPid())) // the command's end is waited for
	})()
	return e.pass(lasting, in, out, stderr)
}

// pass passes the streams on until the command's end.
func (e *execution) pass(ctx context.Context, in, out, stderr *os.File) (int, error) {
	var outputs sync.WaitGroup
	if out != nil {
		outputs.Go(func() { _, _ = io.Copy(e.streams.Stdout, out) })
	}
	if stderr != nil {
		outputs.Go(func() { _, _ = io.Copy(e.streams.Stderr, stderr) })
	}
	if in != nil {
		go func() {
			_, _ = io.Copy(in, e.streams.Stdin)
			_ = in.Close()
			_, _ = e.tasks.CloseIO(ctx, &tasksapi.CloseIORequest{ContainerID: e.container, ExecID: e.id, Stdin: true})
		}()
	}
	if e.streams.Sizes != nil {
		go func() {
			for size := e.streams.Sizes.Next(); size != nil; size = e.streams.Sizes.Next() {
				_, _ = e.tasks.ResizePty(ctx, &tasksapi.ResizePtyRequest{ContainerID: e.container, ExecID: e.id, Width: uint32(size.Width), Height: uint32(size.Height)})
			}
		}()
	}
	ended, err := e.tasks.Wait(ctx, &tasksapi.WaitRequest{ContainerID: e.container, ExecID: e.id})
	written := make(chan struct{})
	go func() { outputs.Wait(); close(written) }()
	select {
	case <-written:
	case <-time.After(lastOutput):
	}
	return int(ended.GetExitStatus()), err
}
