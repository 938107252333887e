package objects

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// certificates are those of podCertificate sources of registered pods (KEP-4317, A-CERT-1).
// They are kept in memory only: after a restart of the agent the volumes show those that
// they have until others are issued.
type certificates struct {
	ctx     context.Context
	options Options

	// guarded by mu
	mu    sync.Mutex
	known map[types.UID]map[sourceKey]*podCertificate // of pods that have such sources
	watch *requestWatch                               // nil without any
}

// sourceKey is a podCertificate source of a pod.
type sourceKey struct {
	volume string
	source int
}

// register makes the certificates of a pod, or takes over another version of it.
func (c *certificates) register(pod *v1.Pod) {
	if !c.options.PodCertificates {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[pod.UID] != nil { // volumes don't change
		return
	}
	sources := map[sourceKey]*podCertificate{}
	for _, v := range pod.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for i, source := range v.Projected.Sources {
			if source.PodCertificate != nil {
				sources[sourceKey{v.Name, i}] = &podCertificate{pod: pod, signer: source.PodCertificate.SignerName, pauses: requestRetries}
			}
		}
	}
	if len(sources) == 0 {
		return
	}
	c.known[pod.UID] = sources
	if c.watch == nil {
		c.watchRequests()
	}
}

// forget drops the certificates of a pod.
func (c *certificates) forget(pod types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.known[pod] {
		if have.timer != nil {
			have.timer.Stop()
		}
	}
	delete(c.known, pod)
	if len(c.known) == 0 && c.watch != nil {
		c.watch.cancel()
		c.watch = nil
	}
}

// PodCertificate is the key and the certificate that a source of a projected volume
// shows. It is asked for when it is needed first, and anew from the time on that its
// signer has named; meanwhile the one before is given out. Changed tells when to ask
// again.
func (o *Objects) PodCertificate(ctx context.Context, pod *v1.Pod, volume *v1.Volume, source int) (volumes.Credentials, error) {
	return o.certificates.credentials(ctx, pod, volume, source)
}

func (c *certificates) credentials(ctx context.Context, pod *v1.Pod, volume *v1.Volume, source int) (volumes.Credentials, error) {
	if !c.options.PodCertificates {
		return volumes.Credentials{}, &volumes.RefusedError{Why: "podCertificate sources need the feature gate PodCertificateRequest, which is off"}
	}
	have, due := c.begin(pod.UID, sourceKey{volume.Name, source})
	if have == nil {
		return volumes.Credentials{}, errors.New("no pod with this podCertificate source is registered")
	}
	if due {
		asked, err := c.request(ctx, pod, volume.Projected.Sources[source].PodCertificate)
		c.requested(have, asked, err)
	}
	return c.answer(ctx, have)
}

// begin finds the certificate of a source. It says whether the caller is the one to
// ask for another.
func (c *certificates) begin(pod types.UID, key sourceKey) (have *podCertificate, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have = c.known[pod][key]; have == nil {
		return nil, false
	}
	due = !have.requesting && have.due(time.Now())
	have.requesting = have.requesting || due
	return have, due
}

// requested files what came of asking. The signer may have been faster than the answer.
func (c *certificates) requested(have *podCertificate, request *asked, err error) {
	c.mu.Lock()
	have.requesting, have.again = false, time.Time{}
	var happened news
	if err != nil {
		have.cause, have.retry = err, time.Now().Add(have.pauses.Step())
	} else {
		have.asked, have.cause, have.retry, have.pauses = request, nil, time.Time{}, requestRetries
		if seen := c.watch.seen(request.name); seen != nil {
			happened = have.decide(seen)
		}
	}
	c.arm(have)
	c.mu.Unlock()
	if err != nil {
		c.options.Log.Warn("a pod's certificate is not asked for", "pod", have.pod.Name, "namespace", have.pod.Namespace, "signer", have.signer, "err", err)
	}
	c.tell(have.pod, happened)
}

// answer is what the source shows now. The first one is waited for a moment, as signers
// may be fast.
func (c *certificates) answer(ctx context.Context, have *podCertificate) (volumes.Credentials, error) {
	c.mu.Lock()
	if first := have.asked; first != nil && have.shown == nil {
		c.mu.Unlock()
		late := time.NewTimer(firstAnswerWithin)
		defer late.Stop()
		select {
		case <-first.heard:
		case <-late.C:
		case <-ctx.Done():
		}
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	switch {
	case have.refused != nil:
		return volumes.Credentials{}, have.refused
	case have.shown != nil:
		return have.shown.Credentials, nil
	case have.cause != nil:
		return volumes.Credentials{}, fmt.Errorf("credential bundle is not issued yet: %w", have.cause)
	}
	return volumes.Credentials{}, errors.New("credential bundle is not issued yet")
}

// arm sets the timer of a certificate.
func (c *certificates) arm(have *podCertificate) {
	if have.timer != nil {
		have.timer.Stop()
	}
	if next := have.next(); !next.IsZero() && c.alive(have) {
		have.timer = time.AfterFunc(time.Until(next), func() { c.ring(have) })
	}
}

// alive says whether the pod is still registered.
func (c *certificates) alive(have *podCertificate) bool {
	for _, known := range c.known[have.pod.UID] {
		if known == have {
			return true
		}
	}
	return false
}

// ring looks at a certificate whose time has come.
func (c *certificates) ring(have *podCertificate) {
	now := time.Now()
	c.mu.Lock()
	if !c.alive(have) {
		c.mu.Unlock()
		return
	}
	happened := have.look(now)
	if request := have.asked; request != nil && !now.Before(request.gone) {
		if c.watch.seen(request.name) == nil {
			c.options.Log.Warn("PodCertificateRequest appears to have been deleted", "request", request.name)
			have.answered()
		} else {
			request.gone = now.Add(requestGoneAfter)
		}
	}
	if !have.requesting && have.due(now) {
		happened.because = lifecycle.Because{Kind: "a-certificate-of-the-pod-is-due"}
		have.again = now.Add(remindEvery)
	}
	c.arm(have)
	c.mu.Unlock()
	c.tell(have.pod, happened)
}

// tell passes on what has happened. It is called without the lock.
func (c *certificates) tell(pod *v1.Pod, happened news) {
	for _, e := range happened.events {
		c.options.Warn(pod, e.reason, e.message)
	}
	if happened.because != (lifecycle.Because{}) {
		c.options.Changed(pod.UID, happened.because)
	}
}

// States tells the signer and the state of each podCertificate source.
func (o *Objects) States(tell func(signer, state string)) {
	c := o.certificates
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, sources := range c.known {
		for _, have := range sources {
			tell(have.signer, have.state(now))
		}
	}
}
