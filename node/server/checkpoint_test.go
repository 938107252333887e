package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func (f *fakeRuntime) CheckpointContainer(ctx context.Context, r *runtimeapi.CheckpointContainerRequest, _ ...grpc.CallOption) (*runtimeapi.CheckpointContainerResponse, error) {
	deadline, _ := ctx.Deadline()
	f.asked = append(f.asked, fmt.Sprintf("checkpoint %s in %d s (%.0f) to %s", r.ContainerId, r.Timeout, time.Until(deadline).Seconds(), filepath.Base(r.Location)))
	return &runtimeapi.CheckpointContainerResponse{}, f.err
}

func TestCheckpoint(t *testing.T) {
	runtime := &fakeRuntime{}
	node := &fakeNode{}
	node.set(testPod(runningStatus(0)))
	c := testConfig(t, node)
	c.Runtime, c.Folders.Checkpoints, c.Kubelet.RuntimeRequestTimeout = runtime, filepath.Join(t.TempDir(), "checkpoints"), metav1.Duration{Duration: 2 * time.Minute}
	const file = `checkpoint-web_default-main-[0-9T:Z+-]*\.tar`
	ask := func(query string) string { return request1(t, c, "POST", "/checkpoint/default/web/"+query) }
	for query, want := range map[string]string{
		"main": "120 s (120)", "main?timeout=60": "120 s (120)", "main?timeout=1&timeout=300": "300 s (300)",
	} {
		answer := ask(query)
		assert.True(t, regexp.MustCompile(`^200 \{"items":\["`+regexp.QuoteMeta(c.Folders.Checkpoints)+"/"+file+`"\]\}$`).MatchString(answer),
			"A-NODE-7 %s: answer %s", query, answer)
		if got := fmt.Sprint(runtime.asked); !regexp.MustCompile(`^\[checkpoint c1 in ` + regexp.QuoteMeta(want) + " to " + file + `\]$`).MatchString(got) {
			t.Errorf("A-NODE-7 %s: the runtime is asked %s", query, got)
		}
		runtime.asked = nil
	}
	runtime.err = errors.New("no CRIU")
	for query, want := range map[string]string{
		"none": "404 container none does not exist", "main?timeout=soon": "404 cannot parse value of timeout parameter",
		"main?timeout=-1": "500 checkpointing of default/web/main failed (CheckpointContainer requires the timeout value to be > 0)",
		"main":            "500 checkpointing of default/web/main failed (no CRIU)",
	} {
		assert.Equal(t, want, ask(query), "A-NODE-7 %s", query)
	}
	node.set(testPod(v1.ContainerStatus{}))
	assert.Equal(t, "500 checkpointing of default/web/main failed (container main not found)", ask("main"), "A-NODE-7")
}

// TestChanges: who waits is woken by the next change, and nothing is kept of a pod for
// which nobody waits any more, woken or not.
func TestChanges(t *testing.T) {
	var c Changes
	first, forgetFirst := c.next("a")
	second, forgetSecond := c.next("a")
	_, forgetOther := c.next("b")
	forgetFirst()
	c.Changed("a")
	third, forgetThird := c.next("a")
	<-first
	<-second
	forgetSecond() // of the change before
	c.Changed("a")
	<-third
	forgetThird()
	forgetOther()
	assert.True(t, len(c.pods) == 0, "%d pods are kept", len(c.pods))
}
