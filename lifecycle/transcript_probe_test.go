package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// playProbe carries out the verbs of probes and conditions:
//
//	probe container kind outcome [output=text] [late=D]    answer the attempt under way
//	endpoint container kind outcome|hangs [output=text]    from now on each attempt is answered so, at once
//	condition type[=status]                                somebody else's condition of the pod is set, or removed
//	oversleep D                                            time passes, and the timer fires only then
func (tr *transcript) playProbe(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "probe":
		tr.answerProbe(t, d)
	case "endpoint":
		key := d.CmdArgs[0].Key + " " + d.CmdArgs[1].Key
		delete(tr.endpoints, key)
		if d.CmdArgs[2].Key != "hangs" {
			tr.endpoints[key] = probedArg(t, d)
		}
	case "condition":
		c := v1.PodCondition{Type: v1.PodConditionType(d.CmdArgs[0].Key)}
		if len(d.CmdArgs[0].Vals) > 0 {
			c.Status = v1.ConditionStatus(d.CmdArgs[0].Vals[0])
		}
		tr.feed(ConditionSet{Condition: c})
	case "oversleep":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		assert.Require(t, err == nil, "%s: %v", d.Pos, err)
		tr.now, tr.wakeAt = tr.now.Add(by), time.Time{}
		tr.feed(Woke{})
	default:
		tr.playUpdate(t, d)
	}
}

func (tr *transcript) answerProbe(t *testing.T, d *datadriven.TestData) {
	key := d.CmdArgs[0].Key + " " + d.CmdArgs[1].Key
	i := slices.IndexFunc(tr.pending, func(e Effect) bool {
		p, ok := e.(Probe)
		return ok && endpointKey(p) == key
	})
	assert.Require(t, i >= 0, "%s: no attempt of %s is under way", d.Pos, key)
	f := probedArg(t, d)
	f.ID = tr.take(i).EffectID()
	tr.feed(f)
}

// answered is the answer of a probe's endpoint that always answers the same.
func (tr *transcript) answered(e Effect) (Fact, bool) {
	p, ok := e.(Probe)
	if !ok {
		return nil, false
	}
	f, ok := tr.endpoints[endpointKey(p)]
	f.ID = p.ID
	return f, ok
}

func endpointKey(p Probe) string { return p.Container + " " + strings.ToLower(p.Kind.String()) }

func probedArg(t *testing.T, d *datadriven.TestData) Probed {
	outcomes := map[string]ProbeOutcome{
		"success": ProbeSuccess, "warning": ProbeWarning, "failure": ProbeFailure, "error": ProbeError,
	}
	outcome, ok := outcomes[d.CmdArgs[2].Key]
	assert.Require(t, ok, "%s: unknown outcome %q", d.Pos, d.CmdArgs[2].Key)
	f := Probed{Outcome: outcome, Output: stringArg(d, "output")}
	if late := stringArg(d, "late"); late != "" {
		var err error
		f.Late, err = time.ParseDuration(late)
		assert.Require(t, err == nil, "%s: %v", d.Pos, err)
	}
	return f
}

// probeDefaults sets the API's defaults.
func probeDefaults(c *v1.Container) {
	for _, p := range []*v1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if p == nil {
			continue
		}
		p.TimeoutSeconds, p.PeriodSeconds = max(p.TimeoutSeconds, 1), orElse(p.PeriodSeconds, 10)
		p.SuccessThreshold, p.FailureThreshold = max(p.SuccessThreshold, 1), orElse(p.FailureThreshold, 3)
	}
}

func orElse(n, otherwise int32) int32 {
	if n == 0 {
		return otherwise
	}
	return n
}
