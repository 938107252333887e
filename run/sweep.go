package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/agent/address"
	"github.com/lifepod/lifepod/agent/podcgroup"
	"github.com/lifepod/lifepod/agent/volumes"
	"github.com/lifepod/lifepod/cri"
)

// Sweep removes the pods that killed lifepods of this root have left, and calls
// swept for each, with its namespace/name.
func Sweep(ctx context.Context, r *Runtime, swept func(pod string)) error {
	paths, err := filepath.Glob(filepath.Join(recordsDir(r.Root), "*.json"))
	if err != nil {
		return fmt.Errorf("look for leftovers: %w", err)
	}
	for _, path := range paths {
		left, err := abandoned(path)
		if err != nil {
			return fmt.Errorf("look for leftovers: %w", err)
		}
		if left == nil {
			continue
		}
		if err := sweepPod(ctx, r, left); err != nil {
			_ = left.file.Close()
			return fmt.Errorf("sweep up pod %s/%s, left by a lifepod that was killed: %w", left.Namespace, left.Name, err)
		}
		_ = os.Remove(path)
		_ = left.file.Close()
		swept(left.Namespace + "/" + left.Name)
	}
	return nil
}

// sweepPod kills what runs of the pod and gives everything back, in the order
// of a pod's end.
func sweepPod(ctx context.Context, r *Runtime, left *record) error {
	list, err := r.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{cri.PodUIDLabel: string(left.UID)}},
	})
	if err != nil {
		return fmt.Errorf("list its sandboxes: %s", cri.Text(err))
	}
	for _, s := range list.Items {
		if _, err := r.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Id}); err != nil {
			return fmt.Errorf("stop its sandbox: %s", cri.Text(err))
		}
		if _, err := r.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.Id}); err != nil {
			return fmt.Errorf("remove its sandbox: %s", cri.Text(err))
		}
	}
	logs := filepath.Join(logRoot(r.Root), left.Namespace+"_"+left.Name+"_"+string(left.UID))
	errs := []error{
		volumes.Remove(filepath.Join(podsDir(r.Root), string(left.UID))),
		os.RemoveAll(logs),
		podcgroup.Driver{Parent: r.CgroupParent, Systemd: r.Systemd}.Remove(ctx, left.UID),
	}
	if r.IPAMDir != "" {
		errs = append(errs, address.Release(r.IPAMDir, left.UID))
	}
	return errors.Join(errs...)
}
