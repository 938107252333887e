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
	flag.StringVar(&o.only, "only", "", "only in files whose names match")
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
		if only.MatchString(m.File) {
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
	var (
		mu     sync.Mutex
		trials []mutate.Trial
		valid  int
		failed error
		group  sync.WaitGroup
	)
	next := make(chan mutate.Mutant)
	for range o.jobs {
		group.Go(func() {
			for m := range next {
				trial, err := mutate.Package{Root: ".", Folder: filepath.Dir(m.File)}.Try(ctx, []mutate.Mutant{m}, rounds)
				mu.Lock()
				if err != nil {
					failed = errors.Join(failed, err)
				} else if trials = append(trials, trial); !trial.Uncompiled {
					valid++
					fmt.Fprintf(os.Stderr, "%d/%d %s:%d %s: %s\n", valid, o.n, m.File, m.Line, m.Change(), trial.CaughtBy)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range chosen {
		mu.Lock()
		done := valid >= o.n || failed != nil
		mu.Unlock()
		if done {
			break
		}
		next <- m
	}
	close(next)
	group.Wait()
	return trials, failed
}
