package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// lives are the container of a pod and how often it was restarted.
func lives(p *core.Pod) string {
	c := p.Status.ContainerStatuses[0]
	return fmt.Sprintf("%s %s %d", p.UID, c.ContainerID, c.RestartCount)
}

// again is whether the node has taken up its work: another pod runs.
func (s space) again(name string) {
	s.t.Helper()
	s.create(podOf(name, podSpec("exec sleep --on-term 0 1h")))
	s.pod(name, "run", isReady)
}

// After SIGTERM the pods run on, and the next process goes on with the same containers.
func TestRestart(t *testing.T) {
	s := newSpace(t, nil)
	s.create(podOf("stays", podSpec("exec sleep --on-term 0 1h")))
	before := lives(s.pod("stays", "run", isReady))
	up.Stop()
	assert.Must(t, up.Run(t.Context()))
	s.again("new")
	after := lives(s.pod("stays", "run", isReady))
	assert.Deep(t, "the pod's container", before, after)
	assert.True(t, s.kubectl("exec", "stays", "--", "echo", "works") == "works", "exec does not work any more")
}

// acknowledged makes objects until the API server is gone and says which it has said
// to have. enough is closed when there are so many, or no more are to come.
func acknowledged(many int, create func() (string, error)) (names func() []string, enough <-chan struct{}) {
	reached, ended := make(chan struct{}), make(chan struct{})
	var list []string
	tell := sync.OnceFunc(func() { close(reached) })
	go func() {
		defer close(ended)
		defer tell()
		for {
			name, err := create()
			if err != nil {
				return
			}
			if list = append(list, name); len(list) == many {
				tell()
			}
		}
	}()
	return func() []string { <-ended; return list }, reached
}

// kill -9 while pods and other objects are made loses none that was acknowledged, and
// no container that runs.
func TestKillUnderLoad(t *testing.T) {
	s := newSpace(t, nil)
	s.create(podOf("stays", podSpec("exec sleep --on-term 0 1h")))
	before := lives(s.pod("stays", "run", isReady))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	pods, enough := acknowledged(5, func() (string, error) {
		pod, err := client.CoreV1().Pods(s.name).Create(ctx, &core.Pod{
			ObjectMeta: meta.ObjectMeta{GenerateName: "load-"},
			Spec: core.PodSpec{Containers: []core.Container{{Name: "main", Image: "lifepod.dev/toolbox:1", Command: []string{"sleep", "--on-term", "0", "1h"}, Resources: core.ResourceRequirements{
				Limits: core.ResourceList{core.ResourceMemory: resource.MustParse("32Mi")},
			}}}},
		}, meta.CreateOptions{})
		if err != nil {
			return "", err
		}
		return pod.Name, nil
	})
	maps, _ := acknowledged(0, func() (string, error) {
		made, err := client.CoreV1().ConfigMaps(s.name).Create(ctx, &core.ConfigMap{ObjectMeta: meta.ObjectMeta{GenerateName: "load-"}}, meta.CreateOptions{})
		if err != nil {
			return "", err
		}
		return made.Name, nil
	})
	<-enough
	up.Kill()
	stop()
	assert.Must(t, up.Run(t.Context()))
	list := assert.Get(client.CoreV1().ConfigMaps(s.name).List(t.Context(), meta.ListOptions{})).Must(t)
	there := map[string]bool{}
	for _, c := range list.Items {
		there[c.Name] = true
	}
	for _, name := range maps() {
		assert.True(t, there[name], "config map %s is lost", name)
	}
	t.Logf("%d pods and %d config maps were acknowledged", len(pods()), len(maps()))
	for _, name := range pods() {
		if _, err := client.CoreV1().Pods(s.name).Get(t.Context(), name, meta.GetOptions{}); err != nil {
			t.Errorf("pod %s is lost: %v", name, err)
			continue
		}
		assert.True(t, s.pod(name, "run", isReady).Status.ContainerStatuses[0].RestartCount == 0, "pod %s has been restarted", name)
	}
	assert.Deep(t, "the container that ran", before, lives(s.pod("stays", "run", isReady)))
}

// After down pods begin anew, and reach the API server by its Service at once.
func TestBeginAnewAfterDown(t *testing.T) {
	s := newSpace(t, nil)
	const pods = 5
	for i := range pods {
		s.create(podOf(fmt.Sprintf("client-%d", i), podSpec(`dial --timeout 1s "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT" && exec sleep --on-term 0 1h`)))
	}
	for i := range pods {
		s.pod(fmt.Sprintf("client-%d", i), "run", isReady)
	}
	down := exec.CommandContext(t.Context(), up.Program, "down", "--root", up.Root, "--grace-period", "1s")
	out, err := down.CombinedOutput()
	assert.Require(t, err == nil, "%v: %s", err, out)
	assert.Must(t, up.Run(t.Context()))
	for i := range pods {
		pod := s.pod(fmt.Sprintf("client-%d", i), "run again", func(p *core.Pod) bool {
			return isReady(p) && p.Status.ContainerStatuses[0].RestartCount > 0
		})
		if c := pod.Status.ContainerStatuses[0]; c.RestartCount != 1 {
			t.Errorf("pod %s was restarted %d times, want 1; its container ended with %+v", pod.Name, c.RestartCount, c.LastTerminationState.Terminated)
		}
	}
}
