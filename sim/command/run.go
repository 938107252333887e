package command

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/garbage"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/sim"
)

// run simulates, and says the exit code.
func (o *options) run(ctx context.Context) (int, error) {
	in, err := o.input().Read()
	if err != nil {
		return ExitError, err
	}
	if o.runs > 1 {
		return o.many(ctx, in)
	}
	return o.one(ctx, in)
}

func (o *options) input() Files {
	return Files{Command: o.command, Manifests: o.files, Scenario: o.scenario, Asserts: o.asserts, Stdin: o.stdin}
}

// one simulates a life and shows it.
func (o *options) one(ctx context.Context, in Input) (int, error) {
	p, err := newPrinter(o, in.Set.Pod, sim.Began)
	if err != nil {
		return ExitError, err
	}
	for _, text := range in.Set.Warnings {
		p.warn(text)
	}
	drawn := o.output != "" && o.output != "json"
	settings := sim.Options{Scenario: in.Scenario, Seed: o.seed, For: o.limit, Journal: drawn, GivenUp: givenUp(ctx)}
	if !drawn {
		settings.Sink = p
	}
	life := sim.Run(in.Set.Pod, settings)
	if ctx.Err() != nil {
		return ExitError, context.Cause(ctx)
	}
	if drawn {
		if err := WriteChart(o.stdout, o.output, life); err != nil {
			return ExitError, err
		}
	} else if !life.Gone {
		p.last(life.At, lastLine(life))
	}
	breaches := sim.Broken(in.Asserts, life)
	if o.output == "json" {
		for _, b := range breaches {
			p.breach(b)
		}
	}
	if p.failed != nil {
		return ExitError, fmt.Errorf("write standard output: %w", p.failed)
	}
	return o.verdict(breaches)
}

func givenUp(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// lastLine says how a pod that has not ended is at the end of the simulation.
func lastLine(l *sim.Life) string {
	ready := "not Ready"
	if l.Ready() {
		ready = "Ready"
	}
	end := "simulation ends"
	if l.Quiet {
		end = "nothing more happens"
	}
	phase := l.Phase()
	if phase == v1.PodSucceeded || phase == v1.PodFailed {
		return fmt.Sprintf("%s: pod %s", end, phase)
	}
	return fmt.Sprintf("%s: pod is %s and %s", end, phase, ready)
}

// many simulates lives and shows what they have in common.
func (o *options) many(ctx context.Context, in Input) (int, error) {
	garbage.Allow(garbage.Seldom) // of a life hardly anything is kept: this takes a few MiB and saves a third of the time
	var s sim.Statistics
	lives := sim.Of(in.Set.Pod)
	breaking := 0
	for i := range o.runs {
		life := lives.Run(sim.Options{Scenario: in.Scenario, Seed: o.seed + uint64(i), For: o.limit, GivenUp: givenUp(ctx)}) //nolint:gosec // never negative
		if ctx.Err() != nil {
			return ExitError, context.Cause(ctx)
		}
		breaches := sim.Broken(in.Asserts, life)
		if s.Add(life, breaches); breaches != nil {
			breaking++
		}
	}
	s.Finish()
	if err := o.writeStatistics(&s); err != nil {
		return ExitError, fmt.Errorf("write standard output: %w", err)
	}
	if breaking == 0 {
		return 0, nil
	}
	return o.verdictOnAll(s.Breaches, breaking)
}

func (o *options) writeStatistics(s *sim.Statistics) error {
	if o.output != "json" {
		return s.Write(o.stdout)
	}
	return o.writeJSON(s)
}

// verdict tells how assertions are broken, if they are, and says the exit code.
func (o *options) verdict(breaches []sim.Breach) (int, error) {
	if breaches == nil {
		return 0, nil
	}
	for _, b := range breaches {
		if err := o.say(b.String()); err != nil {
			return ExitError, err
		}
	}
	return ExitAsserted, nil
}

// verdictOnAll tells how so many of the lives break assertions: the first of what fails, and how to learn the rest.
func (o *options) verdictOnAll(breaches []sim.Breach, lives int) (int, error) {
	const shown = 5
	code, err := o.verdict(breaches[:min(shown, len(breaches))])
	if more := len(breaches) - shown; more > 0 && err == nil {
		err = o.say(fmt.Sprintf("%d more failures: -o json lists all of them with their seeds", more))
	}
	if err == nil {
		err = o.say(fmt.Sprintf("assertions fail in %d of %d lives; --seed N shows one of them", lives, o.runs))
	}
	return code, err
}

func (o *options) say(text string) error {
	if _, err := fmt.Fprintln(o.stderr, "lifepod: "+plain.Text(text)); err != nil {
		return fmt.Errorf("write standard error: %w", err)
	}
	return nil
}
