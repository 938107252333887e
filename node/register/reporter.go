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
	config    *Config
	addresses *finder
	object    *object
	calls     *calls
	log       *slog.Logger

	facts   facts
	looks   looks
	patches patches

	rebootReported, unschedulable bool
}

// looks are at what the status tells of.
type looks struct {
	next      time.Time // at what nobody announces
	addresses time.Time // the last, as the images'
	images    time.Time
	badSince  time.Time // when the runtime began to make the node not Ready
	// What failed at the last look, for the log.
	runtimeLog, imagesLog, addressLog backoff
}

// patches are what was written.
type patches struct {
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
}

func (n *Node) newReporter() *reporter {
	log := n.config.Log
	r := &reporter{
		config: &n.config, addresses: n.addresses, object: n.object, calls: n.calls, log: log, facts: n.facts,
		looks: looks{
			runtimeLog: backoff{log: log, what: "asking the container runtime for its status"},
			imagesLog:  backoff{log: log, what: "listing the images"},
			addressLog: backoff{log: log, what: "finding the node's addresses"},
		},
		patches: patches{
			retry: backoff{log: log, what: "writing the node's status"},
			limit: rate.NewLimiter(rate.Every(time.Second), 10),
		},
	}
	if before := n.found.Load(); before != nil {
		r.facts.addresses, r.looks.addresses = before.addresses, before.at
	}
	return r
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
		case <-r.calls.wake:
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
	asked := r.calls.take()
	due := !now.Before(r.looks.next)
	if asked.runtime || due {
		r.askRuntime(ctx)
	}
	if asked.images || now.Sub(r.looks.images) >= r.config.Timing.StatusReport {
		r.listImages(ctx, now)
	}
	if r.facts.addresses == nil || now.Sub(r.looks.addresses) >= addressesEvery {
		r.findAddresses(ctx, now)
	}
	if asked.back {
		r.patches.notBefore = time.Time{}
	}
	if due || asked.runtime {
		now = time.Now() // a runtime that hangs has taken its time
		r.looks.next = now.Add(r.pace(now))
	}
}

// pace is the time to the next look.
func (r *reporter) pace(now time.Time) time.Duration {
	runtimeErr, networkErr := r.facts.runtime.notReady(now)
	if runtimeErr == nil && networkErr == nil && r.facts.runtime.failingSince.IsZero() {
		r.looks.badSince = time.Time{}
		return r.config.Timing.StatusUpdate
	}
	if r.looks.badSince.IsZero() {
		r.looks.badSince = now
	}
	if now.Sub(r.looks.badSince) < hopeful {
		return impatient
	}
	return patient
}

func (r *reporter) askRuntime(ctx context.Context) {
	err := r.facts.runtime.ask(ctx, r.config.Runtime.Service, r.config.Timing.RuntimeGrace)
	if err != nil {
		r.looks.runtimeLog.complain(err)
		return
	}
	r.looks.runtimeLog.succeeded()
	if r.facts.declared == nil && r.facts.runtime.answered {
		// Version is a constant that the tests parse: there is no error.
		r.facts.declared, _ = declaredFeatures(r.config.FeatureGates, r.facts.runtime.features)
	}
}

// listImages keeps what was known when the runtime doesn't answer: the
// scheduler only prefers nodes by it.
func (r *reporter) listImages(ctx context.Context, now time.Time) {
	r.looks.images = time.Time{}
	images, err := imagesOn(ctx, r.config.Runtime.Images, r.config.MaxImages)
	if err != nil {
		r.looks.imagesLog.complain(err)
		return
	}
	r.looks.imagesLog.succeeded()
	r.facts.images, r.looks.images = images, now
}

func (r *reporter) findAddresses(ctx context.Context, now time.Time) {
	addresses, err := r.addresses.addresses(ctx)
	if err != nil {
		r.looks.addressLog.complain(err)
		return
	}
	r.looks.addressLog.succeeded()
	r.facts.addresses, r.looks.addresses = addresses, now
	r.config.Senses.Addressed(addresses)
}

// write patches the API's Node if the facts make another one of it, or if it is
// time to.
func (r *reporter) write(ctx context.Context) {
	before := r.object.newest.Load()
	now := time.Now()
	if before == nil || r.calls.absent() {
		return
	}
	r.tellSchedulable(before)
	after := before.DeepCopy()
	events := r.config.describe(after, &r.facts, now)
	changed := r.isNews(before, after)
	if !changed && now.Before(r.reportAt()) || now.Before(r.patches.notBefore) {
		return
	}
	if !r.patches.limit.AllowN(now, 1) {
		r.patches.notBefore = now.Add(time.Second)
		return
	}
	limited, done := context.WithTimeout(ctx, writeTimeout)
	defer done()
	written, err := patchStatus(limited, r.config.API.Heartbeats, before, after)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.patches.notBefore = now.Add(r.patches.retry.failed(err))
		return
	}
	r.patches.retry.succeeded()
	r.tell(events)
	r.wasReported(now, changed || r.patches.reported.IsZero())
	r.object.publish(written, false)
	r.patches.wrote(written, after)
}

// wrote notes what the API server has made of what was sent to it.
func (p *patches) wrote(left, sent *v1.Node) {
	if !differs(left, sent) { // one is enough
		sent = left
	}
	p.left, p.sent = left, sent
}

// isNews says whether a patch would tell the API server anything that the last
// one has not.
func (r *reporter) isNews(before, after *v1.Node) bool {
	if before == r.patches.left {
		return differs(r.patches.sent, after)
	}
	return differs(before, after)
}

// wasReported notes when the status was written. After a change the next
// unchanged report is moved by up to half its interval, so that the nodes of a
// cluster don't report in step.
func (r *reporter) wasReported(now time.Time, changed bool) {
	r.patches.reported, r.patches.notBefore, r.patches.delay = now, time.Time{}, 0
	if changed {
		every := r.config.Timing.StatusReport
		r.patches.delay = time.Duration(float64(every) * (rand.Float64() - 0.5))
	}
}

func (r *reporter) reportAt() time.Time {
	return r.patches.reported.Add(r.config.Timing.StatusReport + r.patches.delay)
}

// next is when there is something to do if nobody calls before.
func (r *reporter) next() time.Time {
	now := time.Now()
	next := r.looks.next
	for _, at := range []time.Time{r.reportAt(), r.facts.runtime.down, r.patches.notBefore} {
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
	r.config.Senses.tell(statusEvent(node.Name, reason))
}
