package cluster

import (
	"context"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/state"
)

// beginServer begins to make the API server, which goes on while etcd gets ready. made
// returns when it is there. Making it heeds no context, and takes half a minute when etcd
// goes away meanwhile: who has to end does not wait for it.
func (r *run) beginServer(ctx context.Context, place state.Place) (made func() error) {
	answer := make(chan error, 1)
	var server *apiserver.Server
	go func() {
		var err error
		server, err = apiserver.New(ctx, apiserver.Config{
			Keys: r.keys, Etcd: place, Listen: r.address, Port: r.ports.API, Advertise: r.advertise, ServiceRange: r.services.String(),
			RuntimeConfig: r.RuntimeConfig, DisableAdmission: r.DisableAdmission,
		})
		answer <- err
	}()
	return func() error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-answer:
			r.server = server
			return err
		}
	}
}
