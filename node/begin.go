package node

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// run is the node until ctx ends.
func (s *setup) run(ctx context.Context, ready func()) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	recording, recorded := context.WithCancel(context.WithoutCancel(ctx))
	defer recorded() // after the pods: their last events are reported
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p, err := s.newParts(ctx)
	if err != nil {
		return err
	}
	servers, err := s.listen(p)
	if err != nil {
		return err
	}
	for _, serve := range servers {
		beside.Go(func() {
			if err := serve(ctx); err != nil && ctx.Err() == nil {
				fail(err)
			}
		})
	}
	if err := p.pods.Open(ctx); err != nil {
		return err
	}
	defer func() { // whatever else ends the node: the runtime is in use until then
		fail(nil)
		p.pods.Wait()
	}()
	for _, run := range slices.Concat(p.ofMachine(), p.ofCluster(s.options.Joined), []func(context.Context){s.newDrivers(p), s.runLocalVolumes, s.guardLocalnet}) {
		beside.Go(func() { run(ctx) })
	}
	if p.cluster != nil {
		beside.Go(func() { p.cluster.events.Run(recording) })
	}
	beside.Go(func() { s.options.Service.Watch(ctx, p.pods.StandsStill, s.log) })
	ready()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// listen takes the ports of the node, for what is to serve there: one that is taken is an
// error before anything has begun.
func (s *setup) listen(p *parts) (servers []func(context.Context) error, err error) {
	healthz, err := s.listenHealthz()
	if err != nil {
		return nil, err
	}
	if healthz != nil {
		servers = append(servers, func(ctx context.Context) error { return serveHealthz(ctx, healthz, p.view.Healthy, s.log) })
	}
	plugins, err := p.devices.Listen()
	if err != nil {
		return nil, err
	}
	resources, err := s.listenPodResources(p)
	if err != nil {
		return nil, err
	}
	servers = append(servers, plugins, resources)
	watched, err := s.listenPods(p)
	if err != nil {
		return nil, err
	}
	if watched != nil {
		servers = append(servers, watched)
	}
	if p.server == nil {
		return servers, nil
	}
	if err := p.server.Listen(); err != nil {
		if healthz != nil {
			_ = healthz.Close() // nobody was served
		}
		return nil, err
	}
	return append(servers, p.server.Serve), nil
}

// ofMachine is what works until ctx ends on every node.
func (p *parts) ofMachine() []func(context.Context) {
	all := []func(context.Context){p.view.health.run, p.workers.Logs.Run, p.workers.KeepJournal, p.collect.Run, p.pressure.Run, p.devices.Run, p.resources.Run, p.limits.run, p.ooms.run}
	if p.shuts != nil {
		all = append(all, p.shuts.Run)
	}
	if p.sources.file != nil {
		all = append(all, p.sources.file.Run)
	}
	if p.sources.url != nil {
		all = append(all, p.sources.url.Run)
	}
	return all
}

// ofCluster is what talks with the API server. The pods of the API are listened to once
// the Node is known (B-RST-3), which joined is told.
func (p *parts) ofCluster(joined func()) []func(context.Context) {
	c := p.cluster
	if c == nil {
		return nil
	}
	all := []func(context.Context){
		c.connection.Run, c.statuses.Run, c.mirrors.Run, p.unprepareStrays, func(ctx context.Context) { c.volumes.Run(ctx, p.pods.AllHeard) },
		c.onceJoined(c.services.Run), c.onceJoined(c.classes.Run), c.onceJoined(c.claims.Run), c.onceJoined(c.csi.Run), c.onceJoined(c.jobSets.Run), c.onceJoined(c.groups.Members.Run), c.onceJoined(p.node.Run),
		after(p.node.Known(), c.tellSkew),
		after(p.node.Known(), func(ctx context.Context) {
			if joined != nil {
				joined()
			}
			p.sources.api.Run(ctx)
		}),
	}
	switch {
	case c.serving == nil:
	case c.serving.Signed(): // approvers look at the Node
		all = append(all, after(p.node.Known(), c.serving.Run))
	default:
		all = append(all, c.onceJoined(c.serving.Run))
	}
	if p.network != nil {
		all = append(all, func(ctx context.Context) { p.network.run(ctx, p.node.Changed) })
	}
	return all
}

// after runs something once a channel is closed, unless ctx ends before.
func after(closed <-chan struct{}, run func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-closed:
			run(ctx)
		}
	}
}
