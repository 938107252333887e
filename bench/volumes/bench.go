package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/storage"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// floor is the name of the bare calls.
const floor = "floor"

// slow is how long the driver takes for a single pod's volume.
const slow = 300 * time.Millisecond

// Rows of the table.
const onePod = "one pod, next call after NodePublishVolume"

func (p plan) manyPods() string {
	return fmt.Sprintf("%d at once, next call after NodePublishVolume", p.pods)
}

// bench is what both sides are measured on.
type bench struct {
	*testbed.Testbed
	plan    plan
	moments *moments
	all     times.Samples
}

func open(ctx context.Context, p plan, log *slog.Logger) (*bench, error) {
	m := &moments{}
	bed, err := testbed.Open(ctx, testbed.Config{Lifepod: p.Lifepod, Keep: p.Keep, Log: log, Relay: m.relay})
	if err != nil {
		return nil, err
	}
	b := &bench{Testbed: bed, plan: p, moments: m}
	err = b.AddNodes(ctx, nil)
	if err == nil {
		err = storage.CreateObject(ctx, b.API)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Parts are those of one block: the bare calls come first.
func (b *bench) Parts(block int) []testbed.Part {
	parts := []testbed.Part{{Name: floor, Measure: func(ctx context.Context) error {
		d, err := b.newDriver(floor)
		if err != nil {
			return err
		}
		err = b.measure(d, floor, func(count int, record times.Record) error { return d.BareCrowd(ctx, b.Floor, count, record) })
		return errors.Join(err, d.Close())
	}}}
	for _, s := range b.Turns(block) {
		parts = append(parts, testbed.Part{Name: s.Name, Measure: func(ctx context.Context) error {
			return s.Turn(ctx, func(ctx context.Context) error { return b.measureSide(ctx, s) })
		}})
	}
	return parts
}

func (b *bench) newDriver(node string) (*storage.Driver, error) {
	d, err := storage.New(node)
	if err == nil {
		d.Answered = b.moments.published
	}
	return d, err
}

// measureSide is the turn of the kubelet, or of lifepod agent.
func (b *bench) measureSide(ctx context.Context, s *testbed.Side) error {
	d, err := b.newDriver(s.Name)
	if err != nil {
		return err
	}
	if err = d.Serve(ctx, s.Member.RootDir()); err == nil {
		err = b.measure(d, s.Name, func(count int, record times.Record) error { return d.Crowd(ctx, s, count, record) })
	}
	if err != nil {
		err = errors.Join(err, s.Clear())
	}
	return errors.Join(err, d.Close())
}

// measure has crowd make the pods of a side, and files what that took.
func (b *bench) measure(d *storage.Driver, side string, crowd func(count int, record times.Record) error) error {
	d.Slow = slow
	for i := range b.plan.n + 1 {
		record := b.all.When(i > 0).Prefixed(side + " ")
		if err := crowd(1, record); err != nil {
			return err
		}
		b.record(onePod, record)
	}
	d.Slow = 0
	testbed.Progress("  %d at once", b.plan.pods)
	record := b.all.When(true).Prefixed(side + " ")
	err := crowd(b.plan.pods, record)
	b.record(b.plan.manyPods(), record)
	return err
}

// record files the waits since it was called before.
func (b *bench) record(what string, record times.Record) {
	for _, wait := range b.moments.waits() {
		record(what, wait)
	}
}

// Print writes the table: medians, the worst.
func (b *bench) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tfloor\tworst\tkubelet\tworst\tlifepod\tworst\t")
	for _, row := range []struct{ label, what string }{
		{onePod, onePod},
		{b.plan.manyPods(), b.plan.manyPods()},
		{fmt.Sprintf("one pod whose driver takes %v, Ready", slow), storage.Last(1)},
		{fmt.Sprintf("%d at once, median pod Ready", b.plan.pods), storage.Median(b.plan.pods)},
		{fmt.Sprintf("%d at once, last pod Ready", b.plan.pods), storage.Last(b.plan.pods)},
	} {
		_, _ = fmt.Fprintf(w, "%s\t%d\t", row.label, len(b.all.Of(testbed.Lifepod+" "+row.what)))
		for _, side := range []string{floor, testbed.Kubelet, testbed.Lifepod} {
			all := b.all.Of(side + " " + row.what)
			_, _ = fmt.Fprintf(w, "%s\t%s\t", times.Milliseconds(times.Quantile(all, 0.5)), times.Milliseconds(times.Quantile(all, 1)))
		}
		_, _ = fmt.Fprintln(w)
	}
	_ = w.Flush() // to the terminal
}
