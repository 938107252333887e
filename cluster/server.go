package cluster

import (
	"context"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/state"
)

// makeServer makes the API server. Making it takes a second and heeds no context, or
// half a minute when etcd goes away meanwhile: who has to end does not wait for it.
func (r *run) makeServer(ctx context.Context, place state.Place) error {
	failed := make(chan error, 1)
	var made *apiserver.Server
	go func() {
		var err error
		made, err = apiserver.New(ctx, apiserver.Config{
			Keys: r.keys, Etcd: place, Listen: r.address, Port: r.ports.API, Advertise: r.advertise, ServiceRange: r.services.String(),
			RuntimeConfig: r.RuntimeConfig,
		})
		failed <- err
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-failed:
		r.server = made
		return err
	}
}
