package space

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

const (
	deadLook    = 100 * time.Millisecond // between two looks at what is still to be removed
	deadAtOnce  = time.Second            // nothing more has gone for so long: it stays
	deadLongest = 20 * time.Second

	// spaceLongest is how long the runtime may take to give space back.
	spaceLongest = 20 * time.Second
)

// ReclaimContainers has all dead containers removed that their pods can spare, and what is
// left of pods that are gone (B-GC-1). It returns when no more of them go. Call it when
// the disk is under pressure.
func (c *Collector) ReclaimContainers(ctx context.Context) error {
	dead, err := c.dead(ctx)
	if err != nil {
		return err
	}
	c.config.Log.Info("removing dead containers", "dead", dead, "rule", "B-GC-1")
	c.config.Pods.NeedSpace()
	left, err := c.awaitRemovals(ctx, dead)
	if err == nil && left < dead {
		c.config.Log.Info("removed dead containers", "removed", dead-left, "left", left)
		err = c.giveBack(ctx)
	}
	return errors.Join(err, c.config.Pods.ClearDisk(ctx))
}

// awaitRemovals returns how many dead containers are left once no more of them go.
func (c *Collector) awaitRemovals(ctx context.Context, dead int) (left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadLongest)
	defer cancel()
	left = dead
	look := time.NewTicker(deadLook)
	defer look.Stop()
	for changed := time.Now(); left > 0 && time.Since(changed) < deadAtOnce; {
		select {
		case <-ctx.Done():
			return left, nil
		case <-look.C:
		}
		now, err := c.dead(ctx)
		if err != nil {
			return left, err
		}
		if now < left {
			left, changed = now, time.Now()
		}
	}
	return left, nil
}

// giveBack has the runtime give back the space of what was removed: containerd answers
// before, and whoever measures at once finds too little.
func (c *Collector) giveBack(ctx context.Context) error {
	if c.config.GiveBack == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, spaceLongest)
	defer cancel()
	return c.config.GiveBack(ctx)
}

// dead is how many dead containers of this node's pods the runtime has.
func (c *Collector) dead(ctx context.Context) (count int, err error) {
	answer, err := c.config.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_EXITED},
	}})
	if err != nil {
		return 0, fmt.Errorf("list the runtime's dead containers: %s", cri.Text(err))
	}
	for _, container := range answer.Containers {
		if uid := types.UID(container.GetLabels()[cri.PodUIDLabel]); uid != "" && c.config.Pods.Owned(uid) {
			count++
		}
	}
	return count, nil
}

// collectContainers removes what is left on disk of pods that are gone. Dead containers
// and sandboxes themselves are removed by the pods' workers.
func (c *Collector) collectContainers(ctx context.Context) {
	ctx, end := c.config.Span(ctx, "Containers/GarbageCollect")
	defer end()
	if err := c.config.Pods.ClearDisk(ctx); err != nil && ctx.Err() == nil {
		c.config.Log.Warn("can't remove what is left of pods that are gone", "err", err)
		c.event("ContainerGCFailed", err.Error())
	}
}
