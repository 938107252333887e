package worker

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// Claims has drivers prepare the devices of pods' resource claims (package node/devices).
type Claims interface {
	Prepare(ctx context.Context, pod *v1.Pod) error
	Unprepare(ctx context.Context, pod types.UID) error
}

// errNoClaims is for a pod that was accepted by an agent of a cluster.
var errNoClaims = errors.New("resource claims need an API server")

func (h *executor) prepareClaims(ctx context.Context, e lifecycle.PrepareClaims) lifecycle.Fact {
	err := errNoClaims
	if h.engine.API.Claims != nil {
		err = h.engine.API.Claims.Prepare(ctx, h.pod)
	}
	return lifecycle.ClaimsPrepared{Result: ofDrivers(ctx, e.ID, err)}
}

func (h *executor) unprepareClaims(ctx context.Context, e lifecycle.UnprepareClaims) lifecycle.Fact {
	var err error // without an API server nothing was prepared
	if h.engine.API.Claims != nil {
		err = h.engine.API.Claims.Unprepare(ctx, h.pod.UID)
	}
	return lifecycle.ClaimsUnprepared{Result: ofDrivers(ctx, e.ID, err)}
}

// ofDrivers is the result of calls of drivers. What a driver has done of a call without an
// answer need not be found out: the call can be repeated. So it has failed like one that
// was refused, unless nobody waits for it any more.
func ofDrivers(ctx context.Context, id lifecycle.EffectID, err error) lifecycle.Result {
	r := lifecycle.Result{ID: id}
	if err == nil {
		return r
	}
	r.Failure = &lifecycle.Failure{Message: err.Error()}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		r.Failure.Class = lifecycle.Cancelled
	}
	return r
}
