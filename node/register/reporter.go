package register

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
)

const (
	// A runtime that makes the node not Ready is looked at every impatient for
	// hopeful, and every patient after it: nobody announces that a network plugin
	// was installed.
	impatient = time.Second
	hopeful   = 2 * time.Minute
	patient   = 5 * time.Second
	// addressesEvery is how often addresses are looked for: it may take a DNS query.
	addressesEvery = time.Minute
)

// reporter keeps the Node's status true. All of it belongs to one goroutine.
type reporter struct {
	*Node
	log   *slog.Logger
	facts facts

	lookAt      time.Time // the next look at what nobody announces
	addressedAt time.Time
	listedAt    time.Time
	badSince    time.Time // when the runtime began to make the node not Ready
	// What failed at the last look, for the log.
	runtimeLog, imagesLog, addressLog backoff

	// left is the API's object as the last patch has left it, sent what that patch
	// wanted of it: an API server that doesn't know a field leaves it out, which
	// must not be sent again and again.
	left, sent *v1.Node
	reported   time.Time
	delay      time.Duration
	notBefore  time.Time // no patch before, because the last one failed
	retry      backoff
	// limit is for two agents on one Node, each undoing what the other writes.
	limit *rate.Limiter

	rebootTold, unschedulable bool
}

func newReporter(n *Node) *reporter {
	log := n.config.Log
	return &reporter{
		Node: n, log: log,
		facts:      facts{machine: n.machine, capacity: n.capacity, reserved: n.reserved},
		runtimeLog: backoff{log: log, what: "asking the container runtime for its status"},
		imagesLog:  backoff{log: log, what: "listing the images"},
		addressLog: backoff{log: log, what: "finding the node's addresses"},
		retry:      backoff{log: log, what: "writing the node's status"},
		limit:      rate.NewLimiter(rate.Every(time.Second), 10),
	}
}

// run looks, compares and writes whenever it is called or it is time, until
// ctx ends.
func (r *reporter) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		r.look(ctx)
		r.write(ctx)
		timer.Reset(time.Until(r.next()))
	}
}

// look brings the facts up to date: what the reporter was called for, and all
// of it when it is time.
func (r *reporter) look(ctx context.Context) {
	now := time.Now()
	asked := r.takeCalls()
	due := !now.Before(r.lookAt)
	if asked.runtime || due {
		r.askRuntime(ctx)
	}
	if asked.images || now.Sub(r.listedAt) >= r.config.Timing.StatusReport {
		r.listImages(ctx, now)
	}
	if r.facts.addresses == nil || now.Sub(r.addressedAt) >= addressesEvery {
		r.findAddresses(ctx, now)
	}
	if asked.back {
		r.notBefore = time.Time{}
	}
	if due || asked.runtime {
		r.lookAt = now.Add(r.pace(now))
	}
}

// pace is the time to the next look.
func (r *reporter) pace(now time.Time) time.Duration {
	runtimeErr, networkErr := r.facts.runtime.notReady(now)
	if runtimeErr == nil && networkErr == nil && r.facts.runtime.failingSince.IsZero() {
		r.badSince = time.Time{}
		return r.config.Timing.StatusUpdate
	}
	if r.badSince.IsZero() {
		r.badSince = now
	}
	if now.Sub(r.badSince) < hopeful {
		return impatient
	}
	return patient
}

func (r *reporter) askRuntime(ctx context.Context) {
	err := r.facts.runtime.ask(ctx, r.config.Runtime.Service, r.config.Timing.RuntimeGrace)
	if err != nil {
		r.runtimeLog.complain(err)
		return
	}
	r.runtimeLog.succeeded()
	if r.facts.declared == nil && r.facts.runtime.answered {
		// Version is a constant that the tests parse: there is no error.
		r.facts.declared, _ = declaredFeatures(r.config.FeatureGates, r.facts.runtime.features)
	}
}

// listImages keeps what was known when the runtime doesn't answer: the
// scheduler only prefers nodes by it.
func (r *reporter) listImages(ctx context.Context, now time.Time) {
	r.listedAt = time.Time{}
	images, err := imagesOn(ctx, r.config.Runtime.Images, r.config.MaxImages)
	if err != nil {
		r.imagesLog.complain(err)
		return
	}
	r.imagesLog.succeeded()
	r.facts.images, r.listedAt = images, now
}

func (r *reporter) findAddresses(ctx context.Context, now time.Time) {
	addresses, err := r.addresses.addresses(ctx)
	if err != nil {
		r.addressLog.complain(err)
		return
	}
	r.addressLog.succeeded()
	r.facts.addresses, r.addressedAt = addresses, now
	r.config.Senses.Addressed(addresses)
}

// write patches the API's Node if the facts make another one of it, or if it is
// time to.
func (r *reporter) write(ctx context.Context) {
	before := r.newest.Load()
	now := time.Now()
	if before == nil || r.absent() {
		return
	}
	r.tellSchedulable(before)
	after := before.DeepCopy()
	events := r.describe(after, &r.facts, now)
	changed := r.isNews(before, after)
	if !changed && !r.reportDue(now) || now.Before(r.notBefore) {
		return
	}
	if !r.limit.AllowN(now, 1) {
		r.notBefore = now.Add(time.Second)
		return
	}
	limited, done := context.WithTimeout(ctx, writeTimeout)
	defer done()
	written, err := patchStatus(limited, r.config.API.Heartbeats, before, after)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.notBefore = now.Add(r.retry.failed(err))
		return
	}
	r.retry.succeeded()
	r.tell(events)
	r.wasReported(now, changed || r.reported.IsZero())
	r.publish(written, false)
	r.left, r.sent = written, after
}

// isNews says whether a patch would tell the API server anything that the last
// one has not.
func (r *reporter) isNews(before, after *v1.Node) bool {
	if before == r.left {
		return differs(r.sent, after)
	}
	return differs(before, after)
}

// wasReported notes when the status was written. After a change the next
// unchanged report is moved by up to half its interval, so that the nodes of a
// cluster don't report in step.
func (r *reporter) wasReported(now time.Time, changed bool) {
	r.reported, r.notBefore, r.delay = now, time.Time{}, 0
	if changed {
		every := r.config.Timing.StatusReport
		r.delay = time.Duration(float64(every) * (rand.Float64() - 0.5))
	}
}

func (r *reporter) reportAt() time.Time {
	return r.reported.Add(r.config.Timing.StatusReport + r.delay)
}

func (r *reporter) reportDue(now time.Time) bool { return !now.Before(r.reportAt()) }

// next is when there is something to do if nobody calls before.
func (r *reporter) next() time.Time {
	now := time.Now()
	next := r.lookAt
	for _, at := range []time.Time{r.reportAt(), r.facts.runtime.down, r.notBefore} {
		if at.After(now) && at.Before(next) {
			next = at
		}
	}
	return next
}

// tellSchedulable tells when the node was cordoned or uncordoned.
func (r *reporter) tellSchedulable(node *v1.Node) {
	if r.unschedulable == node.Spec.Unschedulable {
		return
	}
	r.unschedulable = node.Spec.Unschedulable
	reason := "NodeSchedulable"
	if r.unschedulable {
		reason = "NodeNotSchedulable"
	}
	r.event(statusEvent(node.Name, reason))
}
