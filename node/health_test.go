package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
)

// lists is a runtime that tells its version, whatever becomes of its lists.
type lists struct {
	*crifake.Runtime
	answer func() error
}

func (l lists) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{}, l.answer()
}

// A runtime that is away for a while is none of anybody's business, a disk that can't be
// written is at once; a question that hangs keeps nobody waiting (A-SYNC-11). After three
// minutes without a list the node is not Ready (A-PLEG-1).
func TestHealth(t *testing.T) {
	for _, test := range []struct {
		name    string
		runtime func(end <-chan struct{}) error
		dir     string
		four    string // what is wrong after four minutes
		six     string // and after six
		unready string // after four minutes
	}{
		{name: "all is well"},
		{
			name: "the runtime fails", runtime: func(<-chan struct{}) error { return errors.New("it is down") },
			six: "the container runtime has failed for 6m0s: list all containers: it is down", unready: pleg,
		},
		{
			name: "the runtime hangs", runtime: func(end <-chan struct{}) error { <-end; return nil },
			six: "the container runtime has not answered for 6m0s", unready: pleg,
		},
		{name: "the state folder can't be written", dir: "/proc/none", four: "the state of pods can't be saved: ", six: "the state of pods can't be saved: "},
		{name: "the state folder is full", dir: smallDisk(t, 4<<10, 4<<10), four: "the state of pods can't be saved: ", six: "the state of pods can't be saved: "},
		{name: "the state folder has too little room", dir: smallDisk(t, 16<<10, 8<<10), four: "the state of pods can't be saved: ", six: "the state of pods can't be saved: "},
		{name: "the state folder has little room", dir: smallDisk(t, 256<<10, 64<<10)},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := cmp.Or(test.dir, t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				h := newHealth(lists{Runtime: crifake.New(), answer: func() error {
					if test.runtime == nil {
						return nil
					}
					return test.runtime(ctx.Done())
				}}, dir)
				go h.run(ctx)
				check := func(after time.Duration, want string) {
					time.Sleep(after)
					synctest.Wait()
					if got := h.err(); want == "" && got != nil || want != "" && (got == nil || !strings.HasPrefix(got.Error(), want)) {
						t.Errorf("got %v, want %q", got, want)
					}
				}
				check(4*time.Minute, test.four)
				if err := h.notReady(); test.unready == "" && err != nil || test.unready != "" && (err == nil || err.Error() != test.unready) {
					t.Errorf("not Ready: got %v, want %q", err, test.unready)
				}
				check(2*time.Minute, test.six)
			})
		})
	}
}

const pleg = "PLEG is not healthy: pleg was last seen active 4m0s ago; threshold is 3m0s"

// smallDisk is a folder on a disk of its own, with so many bytes, so many of them in use.
func smallDisk(t *testing.T, size, used int) string {
	dir := t.TempDir()
	assert.Must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)))
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		assert.True(t, err == nil && len(left) == 1, "left behind: %v, %v", left, err)
		assert.NoError(t, unix.Unmount(dir, 0))
	})
	assert.Must(t, os.WriteFile(filepath.Join(dir, "file"), make([]byte, used), 0o600))
	return dir
}

// The port for health has the paths of the node's API, which are as true (A-SYNC-11).
func TestHealthz(t *testing.T) {
	l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	assert.Serves(t, func(ctx context.Context) error {
		return serveHealthz(ctx, l, func() error { return errors.New("the disk is full") }, slog.New(slog.DiscardHandler))
	})
	for path, want := range map[string]string{
		"/healthz":                  "500 [+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
		"/healthz?exclude=syncloop": "200 ok",
		"/healthz/ping":             "200 ok",
		"/healthz/syncloop":         "500 internal server error: the disk is full\n",
		"/metrics":                  "404 404 page not found\n",
	} {
		assert.Equal(t, want, fetch(t, "http://"+l.Addr().String()+path), "%s: got", path)
	}
}

// fetch is the code and the text of an answer.
func fetch(t *testing.T, url string) string {
	request := assert.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)).Must(t)
	response := assert.Get(http.DefaultClient.Do(request)).Must(t)
	defer func() { _ = response.Body.Close() }()
	text := assert.Get(io.ReadAll(response.Body)).Must(t)
	return response.Status[:4] + string(text)
}
