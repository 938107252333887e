package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/source"
)

// originRuntime is that of a pod that only the runtime knows (B-WRK-21).
const originRuntime source.Origin = "runtime"

// leftover is what the runtime had of a pod at the start.
type leftover struct {
	namespace, name string
	seen            lifecycle.Observed // names, IDs and attempts
}

// Open looks for what was left by an agent before this one, and goes on with its
// pods, whether the sources can be heard or not. After a reboot pods of the API
// wait for it to be heard, however often the agent starts before that: they may
// have been given to another node meanwhile.
// Everything ends with ctx; containers run on. Call Wait then.
func (p *Pods) Open(ctx context.Context) error {
	found, err := p.leftovers(ctx)
	if err != nil {
		return err
	}
	kept, useless, err := p.Memory.all()
	if err != nil {
		return err
	}
	rebooted, err := p.Memory.rebooted()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.found = ctx, found
	p.goes(p.events.Run)
	p.goes(p.awaitMirrors)
	for uid, err := range useless {
		if !errors.Is(err, fs.ErrNotExist) { // else it had not begun
			p.Log.Warn("what is remembered of a pod is of no use", "uid", uid, "err", err)
		}
		p.Memory.forget(uid)
	}
	for _, s := range kept {
		e := newPod(s.Origin, s.Pod)
		e.saved = s
		p.pods[s.Pod.UID] = e
		if p.Cluster.Objects != nil {
			p.Cluster.Objects.Register(s.Pod)
		}
		if !rebooted || s.Origin != source.OriginAPI {
			p.begin(e)
		}
	}
	if len(kept) > 0 {
		p.Log.Info("goes on with the pods of an agent before", "pods", len(kept), "rebooted", rebooted)
	}
	return nil
}

// Wait returns when ctx of Open has ended and nothing works on pods any more.
func (p *Pods) Wait() {
	<-p.context().Done()
	_ = p.context() // whoever was beginning something has begun it by now; nobody else will
	p.lives.Wait()
}

// context is Open's; it waits for whoever is at work on the table.
func (p *Pods) context() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctx
}

// leftovers are the pods that the runtime has, but for those of other lifepods.
func (p *Pods) leftovers(ctx context.Context) (map[types.UID]*leftover, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Engine.Timeouts.Call)
	defer cancel()
	sandboxes, err := cri.Again(ctx, func(ctx context.Context) (*runtimeapi.ListPodSandboxResponse, error) {
		return p.Engine.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the runtime's sandboxes: %s", cri.Text(err))
	}
	containers, err := cri.Again(ctx, func(ctx context.Context) (*runtimeapi.ListContainersResponse, error) {
		return p.Engine.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the runtime's containers: %s", cri.Text(err))
	}
	found := map[types.UID]*leftover{}
	for _, s := range sandboxes.Items {
		uid := types.UID(s.GetLabels()[cri.PodUIDLabel])
		if uid == "" || p.Local.Foreign != nil && p.Local.Foreign(uid) {
			continue
		}
		if found[uid] == nil {
			found[uid] = &leftover{namespace: s.GetMetadata().GetNamespace(), name: s.GetMetadata().GetName()}
		}
		seen := &found[uid].seen
		seen.Sandboxes = append(seen.Sandboxes, lifecycle.ObservedSandbox{ID: s.GetId(), Attempt: s.GetMetadata().GetAttempt()})
	}
	for _, c := range containers.Containers {
		if l := found[types.UID(c.GetLabels()[cri.PodUIDLabel])]; l != nil {
			l.seen.Containers = append(l.seen.Containers, lifecycle.ObservedContainer{
				ID: c.GetId(), Name: c.GetMetadata().GetName(), Attempt: c.GetMetadata().GetAttempt(),
			})
		}
	}
	return found, nil
}

// pod is a stand-in for the pod that was: names are all that is known of it.
func (l *leftover) pod(uid types.UID) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name, UID: uid}}
	pod.Spec.TerminationGracePeriodSeconds = new(int64(1)) // B-WRK-21
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	seen := map[string]bool{}
	for _, c := range l.seen.Containers {
		if !seen[c.Name] {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: c.Name})
		}
		seen[c.Name] = true
	}
	return pod
}

// endUnwanted ends what no source wants, once all were heard (B-RST-3, B-RST-11):
// pods of an agent before, those that only the runtime has, and what is left on
// disk of others. Called with mu held.
func (p *Pods) endUnwanted() {
	for _, e := range p.pods {
		if !e.wanted {
			p.leave(e)
		}
	}
	for uid, l := range p.found {
		delete(p.found, uid)
		if p.pods[uid] != nil {
			continue
		}
		p.Log.Info("ends a pod that nobody wants", "pod", l.namespace+"/"+l.name, "uid", uid, "rule", "B-WRK-21")
		e := newPod(originRuntime, l.pod(uid))
		p.pods[uid] = e
		p.Counts.Orphaned()
		p.look(e)
	}
	p.goes(p.clearDisk)
}

// clearDisk removes folders and logs of pods that are not known.
func (p *Pods) clearDisk(ctx context.Context) {
	pods, _ := os.ReadDir(p.Engine.PodsDir) // no folder, no pods
	for _, entry := range pods {
		if uid := types.UID(entry.Name()); entry.IsDir() && !p.known(uid) {
			if err := p.Engine.Discard(ctx, uid); err != nil {
				p.Log.Warn("can't remove the folder of a pod that is gone", "uid", uid, "err", err)
			}
		}
	}
	logs := p.Engine.Config.LogRoot
	ofLogs := func(name string) types.UID { return types.UID(name[strings.LastIndexByte(name, '_')+1:]) }
	entries, _ := os.ReadDir(logs) // no folder, no logs
	for _, entry := range entries {
		if strings.Count(entry.Name(), "_") == 2 && !p.known(ofLogs(entry.Name())) {
			if err := os.RemoveAll(filepath.Join(logs, entry.Name())); err != nil {
				p.Log.Warn("can't remove the logs of a pod that is gone", "folder", entry.Name(), "err", err)
			}
		}
	}
}

// known says that a pod has a place here, or is another lifepod's.
func (p *Pods) known(uid types.UID) bool {
	if p.Local.Foreign != nil && p.Local.Foreign(uid) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pods[uid] != nil
}
