package bundle

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// listedSandboxes are what CRI says of sandboxes.
type listedSandboxes struct {
	cri.UnimplementedRuntimeServiceServer
	ids []string
}

func (l listedSandboxes) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	list := &cri.ListPodSandboxResponse{}
	for _, id := range l.ids {
		list.Items = append(list.Items, &cri.PodSandbox{Id: id})
	}
	return list, nil
}

func (l listedSandboxes) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	return &cri.ListContainersResponse{}, nil
}

// recordedContainers are the containers that containerd has.
type recordedContainers struct {
	containersapi.UnimplementedContainersServer
	ids []string
}

func (r recordedContainers) Get(ctx context.Context, in *containersapi.GetContainerRequest) (*containersapi.GetContainerResponse, error) {
	asked, _ := metadata.FromIncomingContext(ctx)
	switch {
	case in.ID == "asked":
		return nil, status.Error(codes.Unavailable, "not now")
	case !slices.Contains(r.ids, in.ID) || !slices.Equal(asked.Get("containerd-namespace"), []string{"k8s.io"}):
		return nil, status.Error(codes.NotFound, "no such container")
	}
	return &containersapi.GetContainerResponse{}, nil
}

// serveContainerd answers on the root's socket.
func serveContainerd(t *testing.T, p Paths, sandboxes, containers []string, more ...func(*grpc.Server)) {
	t.Helper()
	listener := assert.Get(net.Listen("unix", p.Socket())).Must(t)
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, listedSandboxes{ids: sandboxes})
	containersapi.RegisterContainersServer(server, recordedContainers{ids: containers})
	for _, register := range more {
		register(server)
	}
	go func() { _ = server.Serve(listener) }() // Stop ends it
	t.Cleanup(server.Stop)
}

// A shim that starts while containerd runs, and of which containerd has nothing any
// more, is ended after some looks (B-FIN-6). One whose sandbox is being made is not,
// however long that takes, nor what CRI has not made, nor the shim's program at work
// for containerd (B-RST-1).
func TestYoungLostShimIsEnded(t *testing.T) {
	p := shortPaths(t)
	serveContainerd(t, p, []string{"known"}, []string{"known", "made"})
	s := newLostShims(&daemon{paths: p, log: slog.New(slog.DiscardHandler)})
	assert.Must(t, os.Mkdir(p.shimSockets(), 0o700))
	shims := map[string]*exec.Cmd{
		"foreign": startShim(t, p.Shim(), "-namespace", "default", "-id", "foreign", "-address", p.Socket()),
		"cleanup": startShim(t, p.Shim(), "-namespace", "k8s.io", "-address", p.Socket(), "-id", "cleanup", "-bundle", "/b", "delete"),
	}
	for _, id := range []string{"lost", "known", "made", "asked"} {
		shims[id] = startShim(t, p.Shim(), "-namespace", "k8s.io", "-id", id, "-address", p.Socket())
	}
	t.Cleanup(func() {
		for _, c := range shims {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	alive := func() []string {
		return slices.Sorted(maps.Values(p.shims()))
	}
	for range lostLooks - 1 {
		s.look(t.Context())
	}
	assert.Deep(t, "shims before the last look", []string{"asked", "known", "lost", "made"}, alive())
	for range lostLooks {
		s.look(t.Context())
	}
	assert.Deep(t, "shims after it", []string{"asked", "known", "made"}, alive())
	for _, id := range []string{"foreign", "cleanup"} {
		_, err := pidfd.Find(shims[id].Process.Pid)
		assert.True(t, err == nil, "the process %s: %v", id, err)
	}
}

// Without a shim that starts or ends no process is looked at.
func TestOldSocketsAreNotLookedAt(t *testing.T) {
	p := shortPaths(t)
	assert.True(t, !p.shimsChange(), "shims change without a folder of their sockets")
	assert.Must(t, os.Mkdir(p.shimSockets(), 0o700))
	assert.True(t, p.shimsChange(), "a new folder is no change")
	past := time.Now().Add(-time.Minute)
	assert.Must(t, os.Chtimes(p.shimSockets(), past, past))
	assert.True(t, !p.shimsChange(), "what is a minute old is a change")
}

// The end of a container is added to containerd's record of one that runs, all else
// stays as it was; what has ended already, never ran or is written in another way is
// not touched (B-RST-15). That containerd reads it as its own, the tests of killed
// containerds show.
func TestSavedExit(t *testing.T) {
	for name, test := range map[string]struct{ record, want string }{
		"runs": {
			`{"Version":"v1","Pid":7,"CreatedAt":1,"StartedAt":2,"FinishedAt":0,"ExitCode":0,"Reason":"","Resources":{"linux":{"cpu_shares":2}}}`,
			`{"CreatedAt":1,"ExitCode":88,"FinishedAt":3000000004,"Pid":0,"Reason":"","Resources":{"linux":{"cpu_shares":2}},"StartedAt":2,"Version":"v1"}`,
		},
		"has ended":       {`{"Version":"v1","StartedAt":2,"FinishedAt":3}`, ""},
		"never ran":       {`{"Version":"v1","CreatedAt":1}`, ""},
		"another version": {`{"Version":"v2","StartedAt":2}`, ""},
		"torn":            {`{"Version":"v1","StartedAt"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "id", "status")
			assert.Must(t, replaceFile(path, []byte(test.record)))
			exit, running := readExit(path)
			assert.Require(t, running == (test.want != ""), "runs: %t", running)
			if !running {
				return
			}
			err := exit.save(88, time.Unix(3, 4))
			assert.Require(t, err == nil && exit.id == "id", "save the exit of %q: %v", exit.id, err)
			got, err := os.ReadFile(path)
			assert.True(t, string(got) == test.want && err == nil, "record\n%s, %v; want\n%s", got, err, test.want)
		})
	}
}
