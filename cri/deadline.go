package cri

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Timeouts bound the calls of the runtime. What a call that ran out of time left
// behind is looked for and adopted.
type Timeouts struct {
	Sandbox time.Duration // RunPodSandbox, which may pull the pause image and set up networks
	Call    time.Duration // every other call, on top of a stop's grace (B-SIG-5)
	Pull    time.Duration // one image
	Relist  time.Duration // between two snapshots of a pod
}

// DefaultTimeouts are the kubelet's, with a relist that is only a safety net.
func DefaultTimeouts() Timeouts {
	return Timeouts{Sandbox: 4 * time.Minute, Call: 2 * time.Minute, Pull: 2 * time.Hour, Relist: 10 * time.Second}
}

// UnchangedEnough is after how many snapshots without a change further ones are skipped
// until something changes. It is more than two, because the machine draws some
// conclusions from two snapshots in a row.
const UnchangedEnough = 3

const (
	// claims is for all drivers of a pod's claims, one after the other; each has a
	// deadline of its own.
	claims = 10 * time.Minute
	// none is for what keeps its own.
	none = 365 * 24 * time.Hour
)

// Of is how long an effect may take. An attempt of a probe has its own timeout besides.
func (t Timeouts) Of(effect lifecycle.Effect) time.Duration {
	switch e := effect.(type) {
	case lifecycle.PrepareClaims, lifecycle.UnprepareClaims:
		return claims
	case lifecycle.CreateSandbox:
		return t.Sandbox
	case lifecycle.PullImage:
		return t.Pull
	case lifecycle.StopContainer:
		return t.Call + time.Duration(e.TimeoutSeconds)*time.Second
	case lifecycle.RunHook:
		return none
	case lifecycle.Observe:
		if e.ID == 0 { // the next one would be due
			return t.Relist
		}
	}
	return t.Call
}

// ProbeTimeout is how long one attempt of a probe may take (A-PROBE-1).
func ProbeTimeout(p *v1.Probe) time.Duration {
	return time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
}
