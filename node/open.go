package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// before is what is there from an agent before this one: in the runtime and remembered.
func (p *Pods) before(ctx context.Context) (opened roster.Opened, err error) {
	if opened.Found, err = p.foundPods(ctx); err != nil {
		return opened, err
	}
	kept, useless, err := p.Memory.all()
	if err != nil {
		return opened, err
	}
	for uid, err := range useless {
		if !errors.Is(err, fs.ErrNotExist) { // else it had not begun
			p.Log.Warn("can't use what is remembered of a pod", "uid", uid, "err", err)
		}
		p.Memory.forget(uid)
	}
	for _, s := range kept {
		opened.Remembered = append(opened.Remembered, roster.Remembered{Source: s.Origin, Pod: s.Pod, Checkpoint: s.Checkpoint})
	}
	opened.Rebooted, err = p.Memory.rebooted()
	return opened, err
}

// foundPods are the pods that the runtime has, but for those of other lifepods.
func (p *Pods) foundPods(ctx context.Context) ([]roster.Found, error) {
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
	found := map[types.UID]*roster.Found{}
	for _, s := range sandboxes.Items {
		uid := types.UID(s.GetLabels()[cri.PodUIDLabel])
		if uid == "" || p.Local.Foreign != nil && p.Local.Foreign(uid) {
			continue
		}
		if found[uid] == nil {
			found[uid] = &roster.Found{UID: uid, Namespace: s.GetMetadata().GetNamespace(), Name: s.GetMetadata().GetName()}
		}
		seen := &found[uid].Seen
		seen.Sandboxes = append(seen.Sandboxes, lifecycle.ObservedSandbox{ID: s.GetId(), Attempt: s.GetMetadata().GetAttempt()})
	}
	for _, c := range containers.Containers {
		if f := found[types.UID(c.GetLabels()[cri.PodUIDLabel])]; f != nil {
			f.Seen.Containers = append(f.Seen.Containers, lifecycle.ObservedContainer{
				ID: c.GetId(), Name: c.GetMetadata().GetName(), Attempt: c.GetMetadata().GetAttempt(),
			})
		}
	}
	list := make([]roster.Found, 0, len(found))
	for _, f := range found {
		list = append(list, *f)
	}
	return list, nil
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
	var known bool
	p.ask(func(m *roster.Machine) { _, known = m.PodByUID(uid) })
	return known
}
