package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// place says in a state folder where an agent that uses it has its pods, for commands
// that look while it does not run.
type place struct {
	Command  string `json:"command"`
	Memory   string `json:"memory"`
	LogRoot  string `json:"logRoot"`
	Endpoint string `json:"endpoint"`
}

func placesDir(root string) string { return rootfolder.Agents.In(root) }

// save puts the place into the state folder, where it stays.
func (p place) save(root string) error {
	err := rootfolder.Ensure(placesDir(root), 0o700)
	if err == nil {
		err = wholefile.WriteJSON(filepath.Join(placesDir(root), fmt.Sprintf("%x", sha256.Sum256([]byte(p.Memory)))[:8]+".json"), p)
	}
	if err != nil {
		return fmt.Errorf("say where the node's pods are: %w", err)
	}
	return nil
}

// places are those of all agents that have used a state folder.
func places(root string) (list []place) {
	entries, _ := os.ReadDir(placesDir(root)) // no folder, no agents
	for _, entry := range entries {
		var p place
		if wholefile.ReadJSON(filepath.Join(placesDir(root), entry.Name()), &p) == nil && p.Memory != "" {
			list = append(list, p)
		}
	}
	return list
}

// Running says whether an agent runs that has its pods on a root.
func Running(root string) bool {
	return slices.ContainsFunc(places(root), func(p place) bool { return pods.MemoryFolder{Dir: p.Memory}.Locked() })
}

// Left are the pods of a root that run while their agent does not, by name.
func Left(root string) []unattended.Pod {
	var left []unattended.Pod
	for _, p := range places(root) {
		m := pods.MemoryFolder{Dir: p.Memory}
		if m.Locked() {
			continue
		}
		kept := m.Pods()
		if len(kept) == 0 {
			continue
		}
		living, logs := unattended.LivingOf(root), criconfig.Node{LogRoot: p.LogRoot}
		for _, s := range kept {
			if !living.Has(p.Endpoint, s.Checkpoint.Sandbox.ID) {
				continue // it was ended, or the machine was started anew: the next agent knows
			}
			left = append(left, unattended.New(s.Pod, s.Checkpoint, unattended.Pod{
				Command: p.Command, Root: root, LogDir: logs.PodLogDirectory(s.Pod), Endpoint: p.Endpoint, Runs: true,
			}))
		}
	}
	unattended.Sort(left)
	return left
}

// Kept is what agents that do not run have left of the pods of a root on a runtime, to end them by.
func Kept(root, endpoint string) (kept []roster.Remembered) {
	for _, p := range places(root) {
		if m := (pods.MemoryFolder{Dir: p.Memory}); p.Endpoint == endpoint && !m.Locked() {
			kept = append(kept, m.Pods()...)
		}
	}
	return kept
}

// Forget removes what is left of the pods of a root on a runtime, after they and their mounts were
// ended without their agents: their folders, logs, and what is kept for the next agent.
func Forget(ctx context.Context, root, endpoint string) error {
	var errs []error
	for _, p := range places(root) {
		m := pods.MemoryFolder{Dir: p.Memory}
		if p.Endpoint != endpoint || m.Locked() {
			continue
		}
		for _, s := range m.Pods() {
			errs = append(errs, p.forget(ctx, m, s.Pod))
		}
		errs = append(errs, Unmounted(filepath.Dir(p.Memory))) // what is staged is the next agent's to take back
	}
	return errors.Join(errs...)
}

func (p place) forget(ctx context.Context, m pods.MemoryFolder, pod *v1.Pod) error {
	rootDir, logs := filepath.Dir(p.Memory), criconfig.Node{LogRoot: p.LogRoot}
	folder := filepath.Join(host.PodsDir(rootDir), string(pod.UID))
	found, err := leftovers.Find(ctx, leftovers.Place{Root: rootDir})
	found = slices.DeleteFunc(found, func(l leftovers.Leftover) bool {
		return l.Name != folder && !(l.Kind == leftovers.Mount && strings.HasPrefix(l.Name, folder+"/"))
	})
	if err == nil {
		err = leftovers.Sweep(ctx, found)
	}
	if err != nil {
		return fmt.Errorf("remove the files of pod %s: %w", pod.Namespace+"/"+pod.Name, err)
	}
	return errors.Join(logs.RemovePodLogs(pod), m.Forget(pod.UID))
}
