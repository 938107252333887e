package devices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/pluginsocket"
	"github.com/lifepod/lifepod/roster/numa"
)

// plugin is one that has registered. A resource may have several, each with a socket of its own, as while a plugin is replaced by a newer
// version: the last one is asked.
type plugin struct {
	resource string
	socket   string
	options  *api.DevicePluginOptions
	conn     *grpc.ClientConn
	client   api.DevicePluginClient
	end      context.CancelFunc // of its ListAndWatch
}

// connect asks the plugin of a socket for its options and, from then on, for its devices
// (A-DEV-2).
func (d *Devices) connect(ctx context.Context, name, socket string) error {
	ctx, done := context.WithTimeout(ctx, d.Config.Timeouts.Connect)
	defer done()
	conn, err := pluginsocket.Client(socket)
	if err != nil {
		return fmt.Errorf("failed to dial device plugin: %w", err)
	}
	p := &plugin{resource: name, socket: socket, conn: conn, client: api.NewDevicePluginClient(conn)}
	if p.options, err = p.client.GetDevicePluginOptions(ctx, &api.Empty{}, grpc.WaitForReady(true)); err != nil {
		return errors.Join(fmt.Errorf("failed to get device plugin options: %w", err), conn.Close())
	}
	watch, end := context.WithCancel(d.ctx)
	p.end = end
	d.use(p)
	d.beside.Go(func() {
		err := d.watch(watch, p)
		end()
		_ = conn.Close() // nobody calls it any more
		d.stopped(p, err)
	})
	return nil
}

// use adds a plugin, in the place of the one that had its socket.
func (d *Devices) use(p *plugin) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.resources[p.resource]
	if r == nil {
		r = &registered{devices: numa.DeviceResource{}}
		d.resources[p.resource] = r
	}
	r.plugins = slices.DeleteFunc(r.plugins, func(before *plugin) bool {
		if before.socket != p.socket {
			return false
		}
		before.end()
		return true
	})
	if r.expires != nil {
		r.expires.Stop()
	}
	r.plugins, r.options, r.expires = append(r.plugins, p), p.options, nil
	d.removed.Delete(p.resource)
	d.Config.Log.Info("device plugin registered", "resource", p.resource, "socket", p.socket)
}

// watch takes what a plugin tells of its devices, until it ends.
func (d *Devices) watch(ctx context.Context, p *plugin) error {
	stream, err := p.client.ListAndWatch(ctx, &api.Empty{})
	if err != nil {
		return err
	}
	for {
		list, err := stream.Recv()
		if err != nil {
			return err
		}
		d.update(p, list.GetDevices())
	}
}

// update files the devices of a plugin (A-DEV-3).
func (d *Devices) update(p *plugin, list []*api.Device) {
	now := numa.DeviceResource{}
	for _, device := range list {
		is := numa.Device{Healthy: device.GetHealth() == api.Healthy}
		for _, node := range device.GetTopology().GetNodes() {
			is.Nodes = append(is.Nodes, node.GetID())
		}
		now[device.GetID()] = is
	}
	d.mu.Lock()
	r := d.resources[p.resource]
	if r == nil || !slices.Contains(r.plugins, p) { // another has taken its place
		d.mu.Unlock()
		return
	}
	changed := d.differ(p.resource, d.last[p.resource], now)
	r.devices, d.last[p.resource] = now, now
	d.mu.Unlock()
	d.Config.Log.Info("devices", "resource", p.resource, "healthy", now.Healthy().Len(), "of", len(now))
	d.dirty.Send()
	d.tell(changed)
}

// differ are the pods with a device whose health is another now.
func (d *Devices) differ(name string, before, now numa.DeviceResource) sets.Set[types.UID] {
	changed := sets.Set[types.UID]{}
	for uid, pod := range d.pods {
		for _, container := range pod {
			if a := container[name]; a != nil {
				for id := range a.ids() {
					if healthy(before, id) != healthy(now, id) {
						changed.Insert(uid)
					}
				}
			}
		}
	}
	return changed
}

// healthy says how a device is that a container has; one of which nothing is known is
// healthy (A-DEV-3).
func healthy(r numa.DeviceResource, id string) bool {
	device, known := r[id]
	return !known || device.Healthy
}

// tell tells of what has changed.
func (d *Devices) tell(pods sets.Set[types.UID]) {
	if d.Config.Changed != nil {
		d.Config.Changed()
	}
	if d.Config.HealthChanged != nil {
		for _, uid := range sets.List(pods) {
			d.Config.HealthChanged(uid)
		}
	}
}

// stopped files that a plugin has ended: if the resource has no other, none of its devices can be used until one registers
// again (A-DEV-4). Containers keep theirs.
func (d *Devices) stopped(p *plugin, why error) {
	d.mu.Lock()
	r := d.resources[p.resource]
	if r == nil || !slices.Contains(r.plugins, p) || d.ctx.Err() != nil {
		d.mu.Unlock()
		return
	}
	r.plugins = slices.DeleteFunc(r.plugins, func(one *plugin) bool { return one == p })
	if next := r.plugin(); next != nil {
		r.options = next.options
		d.mu.Unlock()
		d.Config.Log.Info("device plugin has stopped, another goes on", "resource", p.resource, "socket", p.socket)
		return
	}
	r.devices = r.devices.Unhealthy()
	d.expireLater(p.resource)
	d.mu.Unlock()
	if errors.Is(why, io.EOF) {
		why = errors.New("it has ended ListAndWatch")
	}
	d.Config.Log.Warn("device plugin has stopped: its devices can't be used", "resource", p.resource, "err", why)
	d.dirty.Send()
	d.tell(nil)
}

// expireLater gives a resource up whose plugin does not come back (A-DEV-4).
func (d *Devices) expireLater(name string) {
	r := d.resources[name]
	r.expires = time.AfterFunc(d.Config.Timeouts.Stopped, func() {
		d.mu.Lock()
		gone := d.resources[name] == r && len(r.plugins) == 0 && d.ctx.Err() == nil
		if gone {
			delete(d.resources, name)
			d.removed.Insert(name)
		}
		d.mu.Unlock()
		if gone {
			d.Config.Log.Warn("device plugin is away: the node has none of its resource any more", "resource", name)
			d.dirty.Send()
			d.tell(nil)
		}
	})
}
