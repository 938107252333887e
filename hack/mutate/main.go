// Mutate makes one-line mistakes in the machines, one at a time, and prints which test or
// law catches each. It fails if one is caught by nothing and is not listed among those that
// change nothing (equivalent.tsv).
//
//	go run ./hack/mutate [-n N] [-seed S] [-only REGEXP] [-by all|transcripts|walks]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"

	"github.com/lifepod/lifepod/internal/mutate"
)

// random are the tests that lead machines by chance, matrix the one that tries every fact
// in every position: it takes longest, and is tried only if asked for.
const (
	random = "Walks$|^TestAdoptQuiet$"
	matrix = "^TestMatrix$"
)

type options struct {
	n, jobs, checks int
	seed            uint64
	only, by        string
	matrix          bool
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 120, "how many mistakes")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many at once")
	flag.IntVar(&o.checks, "checks", 200, "random lives for each mistake and walk")
	flag.Uint64Var(&o.seed, "seed", 1, "which mistakes")
	flag.StringVar(&o.only, "only", "", "only where FILE:LINE matches")
	flag.StringVar(&o.by, "by", "all", "what is to catch them: all, transcripts (with other tests), or walks")
	flag.BoolVar(&o.matrix, "matrix", false, "try TestMatrix, too, which takes a minute for each survivor")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	rounds, err := o.rounds()
	if err != nil {
		return err
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	all, err := mutate.Of(".", "lifecycle", "roster")
	if err != nil {
		return err
	}
	excuses, err := mutate.ReadExcuses("hack/mutate/equivalent.tsv")
	if err != nil {
		return err
	}
	if stale := excuses.Stale(all); len(stale) > 0 {
		return fmt.Errorf("hack/mutate/equivalent.tsv lists mistakes that can't be made: %q", stale)
	}
	var chosen []mutate.Mutant
	for _, m := range mutate.Shuffle(all, o.seed) {
		if only.MatchString(fmt.Sprintf("%s:%d", m.File, m.Line)) {
			chosen = append(chosen, m)
		}
	}
	fmt.Printf("%d of %d possible mistakes, seed %d\n\n", min(o.n, len(chosen)), len(chosen), o.seed)
	trials, err := o.try(ctx, chosen, rounds)
	if err != nil {
		return err
	}
	for i := range trials {
		trials[i].Excuse = excuses.Of(trials[i].Mutant)
	}
	mutate.Sort(trials)
	if survivors := mutate.Print(os.Stdout, trials); survivors > 0 {
		return fmt.Errorf("%d mistakes are caught by nothing", survivors)
	}
	return nil
}

func (o options) rounds() ([]mutate.Round, error) {
	transcripts := mutate.Round{Run: ".", Skip: random + "|" + matrix, Flags: []string{"-rapid.shrinktime=1ms"}}
	walks := mutate.Round{Run: random, Flags: []string{fmt.Sprintf("-rapid.checks=%d", o.checks), "-rapid.shrinktime=1ms", "-test.failfast"}}
	switch o.by {
	case "all":
		if o.matrix {
			return []mutate.Round{transcripts, walks, {Run: matrix}}, nil
		}
		return []mutate.Round{transcripts, walks}, nil
	case "transcripts":
		return []mutate.Round{transcripts}, nil
	case "walks":
		return []mutate.Round{walks}, nil
	}
	return nil, fmt.Errorf("-by %s: want all, transcripts or walks", o.by)
}

// try makes mistakes until n of them have compiled.
func (o options) try(ctx context.Context, chosen []mutate.Mutant, rounds []mutate.Round) ([]mutate.Trial, error) {
	const more = 3 // of ten do not compile, and are made up for
	chosen = chosen[:min(len(chosen), o.n+o.n*more/10)]
	batches := map[string][]mutate.Mutant{}
	for _, m := range chosen {
		p := packageOf(m)
		if p.Batchable(m) {
			batches[p.Folder] = append(batches[p.Folder], m)
		}
	}
	var trials []mutate.Trial
	for folder, list := range batches {
		done, err := o.batch(ctx, mutate.Package{Root: ".", Folder: folder}, list, rounds)
		if trials = append(trials, done...); err != nil {
			return trials, err
		}
	}
	for _, m := range chosen {
		if p := packageOf(m); !p.Batchable(m) {
			trial, err := p.Try(ctx, []mutate.Mutant{m}, rounds)
			if err != nil {
				return trials, err
			}
			trials = append(trials, trial)
		}
	}
	return trials, nil
}

func packageOf(m mutate.Mutant) mutate.Package {
	return mutate.Package{Root: ".", Folder: filepath.Dir(m.File)}
}

// batch makes the mistakes of one package, some at a time.
func (o options) batch(ctx context.Context, p mutate.Package, list []mutate.Mutant, rounds []mutate.Round) (trials []mutate.Trial, err error) {
	b, err := p.Build(ctx, list)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if caughtBy, err := b.Try(ctx, -1, rounds); err != nil || caughtBy != "" {
		return nil, errors.Join(fmt.Errorf("%s fails without a mistake: %s", p.Folder, caughtBy), err)
	}
	trials = make([]mutate.Trial, len(list))
	errs := make([]error, len(list))
	var group sync.WaitGroup
	places := make(chan struct{}, o.jobs)
	for i, m := range list {
		trials[i] = mutate.Trial{Mutant: m, Uncompiled: b.Refused(i)}
		if b.Refused(i) {
			continue
		}
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			trials[i].CaughtBy, errs[i] = b.Try(ctx, i, rounds)
			if errs[i] == nil {
				fmt.Fprintf(os.Stderr, "%s:%d %s: %s\n", m.File, m.Line, m.Change(), trials[i].CaughtBy)
			}
		})
	}
	group.Wait()
	return trials, errors.Join(errs...)
}
