package node

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// oneQuestion is a runtime that is only asked for its version.
type oneQuestion struct {
	runtimeapi.RuntimeServiceClient
	answer func() error
}

func (q oneQuestion) Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{}, q.answer()
}

// A runtime that is away for a while is none of anybody's business, a disk that can't be
// written is at once; a question that hangs keeps nobody waiting.
func TestHealth(t *testing.T) {
	for _, test := range []struct {
		name    string
		runtime func(end <-chan struct{}) error
		dir     string
		four    string // what is wrong after four minutes
		six     string // and after six
	}{
		{name: "all is well"},
		{name: "the runtime fails", runtime: func(<-chan struct{}) error { return errors.New("it is down") }, six: "the container runtime has failed for 6m0s: it is down"},
		{name: "the runtime hangs", runtime: func(end <-chan struct{}) error { <-end; return nil }, six: "the container runtime has not answered for 6m0s"},
		{name: "the state folder can't be written", dir: "/proc/none", four: "the state of pods can't be saved: ", six: "the state of pods can't be saved: "},
		{name: "the state folder is full", dir: fullDisk(t), four: "the state of pods can't be saved: ", six: "the state of pods can't be saved: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := cmp.Or(test.dir, t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				h := newHealth(oneQuestion{answer: func() error {
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
				check(2*time.Minute, test.six)
			})
		})
	}
}

// fullDisk is a folder on a disk of its own, on which there is no room.
func fullDisk(t *testing.T) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
