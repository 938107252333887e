package nodes

import (
	"context"
	"time"

	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
)

// live is the node, through all that happens to it, until ctx ends. known is called once, when the cluster knows the
// node or ctx has ended.
func (n *node) live(ctx context.Context, known func()) {
	if n.Events == nil {
		n.set.api.Add(n.Name, n.pods, n.times.Shown)
		n.run(ctx, known)
		return
	}
	on := n.begin(ctx, known)
	n.awaitJoined(ctx)
	since := time.Now()
	for _, h := range n.Events {
		if !sleep(ctx, time.Until(since.Add(h.At))) {
			break
		}
		switch h.Kind {
		case nodefaults.Partition:
			n.partition(ctx, h.For)
		case nodefaults.Reboot:
			on.powerOff()
			n.tell("is rebooted, and gone for " + h.For.String())
			if !sleep(ctx, h.For) {
				return
			}
			if n, on = n.reboot(ctx); on == nil {
				return
			}
		case nodefaults.Loss:
			on.powerOff()
			n.tell("is gone for good")
			return
		}
	}
	<-on.over
}

type running struct {
	node *node
	end  context.CancelFunc
	over chan struct{} // closed when nothing of it runs any more
}

func (n *node) begin(ctx context.Context, known func()) *running {
	ctx, end := context.WithCancel(ctx)
	on := &running{n, end, make(chan struct{})}
	n.set.api.Add(n.Name, n.pods, n.times.Shown)
	go func() {
		defer close(on.over)
		defer end()
		n.run(ctx, known)
	}()
	return on
}

// powerOff ends the node as the loss of its power does: nobody is told, and nothing is tidied up.
func (r *running) powerOff() {
	r.node.set.api.Remove(r.node.Name)
	r.node.PowerOff()
	r.end()
	<-r.over
}

// reboot starts the node's machine anew; nil: it does not start.
func (n *node) reboot(ctx context.Context) (*node, *running) {
	n.PowerOn()
	again, err := n.set.newNode(n.number, n.Machine, n.times)
	if err != nil {
		n.log.Error("the node does not begin again", "err", err)
		return n, nil
	}
	again.tell("starts again")
	return again, again.begin(ctx, func() {})
}

// partition cuts the node off from the API server for some time, or until ctx ends.
func (n *node) partition(ctx context.Context, long time.Duration) {
	if !n.awaitJoined(ctx) {
		return
	}
	n.tell("is cut off from the API server for " + long.String())
	shared := &n.set.shared
	n.Cut()
	n.set.api.Remove(n.Name)
	shared.sources.Cut(n.Name)
	shared.objects.Cut(n.Name)
	if !sleep(ctx, long) {
		return
	}
	n.Mend()
	n.tell("reaches the API server again")
	shared.objects.Join(ctx, n.Name)
	shared.sources.Join(n.Name)
	n.Hear()
	n.set.api.Add(n.Name, n.pods, n.times.Shown)
}

// awaitJoined waits until the node is a member of the cluster, unless ctx ends before: then it is false.
func (n *node) awaitJoined(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-n.joined:
		return true
	}
}

// tell tells what happens to the node.
func (n *node) tell(what string) {
	n.log.Info("the node " + what)
	if n.set.Faults.Tell != nil {
		n.set.Faults.Tell(n.Name, what)
	}
}

// sleep waits, unless ctx ends before: then it is false.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
