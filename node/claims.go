package node

import (
	"context"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/node/devices"
	"github.com/lifepod/lifepod/pods"
)

func (s *setup) newClaims(client kubernetes.Interface, inbox *pods.Inbox) (*devices.Claims, error) {
	c, err := devices.NewClaims(devices.ClaimsConfig{
		Client: client, Node: s.name, Counted: s.counts.Claims, Log: s.log,
		StateFile: filepath.Join(s.options.rootDir(), "dra_manager_state"), HealthFile: filepath.Join(s.options.rootDir(), "dra_health_state"),
		HealthChanged: inbox.DevicesChanged,
	})
	if err != nil {
		return nil, err
	}
	s.counts.ClaimsInUse(c.InUse)
	return c, nil
}

// claimDrivers has the pods with claims try again as soon as a driver has registered.
type claimDrivers struct {
	*devices.Drivers
	pods *pods.Shell
}

// Register takes a driver into use.
func (d claimDrivers) Register(ctx context.Context, name, endpoint string, versions []string) error {
	err := d.Drivers.Register(ctx, name, endpoint, versions)
	if err == nil {
		d.pods.DriverRegistered()
	}
	return err
}

// strayClaimsPeriod is how often claims of pods that are gone are looked for (A-DRA-9).
const strayClaimsPeriod = time.Minute

// unprepareStrays has the claims of pods unprepared of which the node has nothing any more,
// such as pods of the kubelet that were gone when lifepod took its place.
func (p *parts) unprepareStrays(ctx context.Context) {
	tick := time.NewTicker(strayClaimsPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !p.pods.AllHeard() {
			continue
		}
		for _, uid := range p.cluster.claims.Strays(p.uids) {
			if err := p.cluster.claims.Unprepare(ctx, uid); err != nil {
				p.cluster.log.WarnContext(ctx, "claims of a pod that is gone", "uid", uid, "err", err, "again in", strayClaimsPeriod)
			}
		}
	}
}

// uids are those of all pods that the node has anything of.
func (p *parts) uids() (list []types.UID) {
	for _, view := range p.pods.Views() {
		list = append(list, view.Pod.UID)
	}
	return list
}
