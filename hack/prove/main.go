// Prove puts a rule of the kubelet's into lifepod, as a mistake, and shows that a test
// notices: it fails with the mistake, and passes without. See docs/proof.md.
//
//	go run ./hack/prove [-issue N]
//	go run ./hack/prove -groups     does so with mistakes in how members of a group tell each other
//	go run ./hack/prove -table      writes docs/reports/kubelet-bugs.md
//
// It also leads pods and nodes through random lives, for a time or until that many pods
// have lived:
//
//	go run ./hack/prove -for 10m [-seed S]
//	go run ./hack/prove -lives N [-seed S] [-checks N] [-compare N]
//
// And of a log of walks it shows the one that failed:
//
//	go test ./roster -run '^TestRandomWalks$' -rapid.seed=S -rapid.checks=1 | go run ./hack/prove -report
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lifepod/lifepod/internal/prove"
	"github.com/lifepod/lifepod/internal/prove/walks"
)

const document = "docs/reports/kubelet-bugs.md"

func main() {
	issue := flag.Int("issue", 0, "only this one")
	groups := flag.Bool("groups", false, "make mistakes in how members of a group tell each other")
	table := flag.Bool("table", false, "write "+document)
	jobs := flag.Int("jobs", runtime.NumCPU(), "how many at once")
	var limit prove.Limit
	flag.DurationVar(&limit.For, "for", 0, "lead random lives for so long")
	flag.IntVar(&limit.Lives, "lives", 0, "lead so many random lives")
	flag.IntVar(&limit.Checks, "checks", 0, "walks of a run, of each kind; 0: as many as usual")
	flag.IntVar(&limit.Compare, "compare", 1, "compare a machine with its clone after every so many steps")
	seed := flag.Int("seed", 0, "of the first run of lives; 0: any")
	report := flag.Bool("report", false, "read the log of walks on standard input, and show the one that failed")
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := (flags{given, *issue, *jobs, limit}).check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	list := prove.Bugs
	if *groups {
		list = prove.GroupMistakes
	}
	bugs, err := list()
	switch {
	case err != nil:
	case *table:
		err = os.WriteFile(document, []byte(prove.Table(bugs)), 0o644)
	case *report:
		err = show(os.Stdin, limit.Compare)
	case limit.For > 0 || limit.Lives > 0:
		err = lead(ctx, *seed, limit)
	default:
		err = proveAll(ctx, bugs, *issue, *jobs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

// flags are those that have numbers.
type flags struct {
	given       map[string]bool
	issue, jobs int
	limit       prove.Limit
}

// check refuses flags that would have something else done than they say.
func (f flags) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q: want flags only", args[0])
	case f.given["issue"] && f.issue < 1:
		return fmt.Errorf("-issue %d: want the number of a bug of %s, such as 138514; without -issue all are proved", f.issue, document)
	case f.given["for"] && f.limit.For <= 0:
		return fmt.Errorf("-for %v: want a time above 0, such as 10m", f.limit.For)
	case f.given["lives"] && f.limit.Lives < 1:
		return fmt.Errorf("-lives %d: want 1 or more", f.limit.Lives)
	case f.limit.Checks < 0:
		return fmt.Errorf("-checks %d: want 1 or more, or 0 for as many as usual", f.limit.Checks)
	case f.jobs < 1:
		return fmt.Errorf("-jobs %d: want 1 or more", f.jobs)
	}
	return nil
}

// show prints the walk that failed.
func show(log io.Reader, compare int) error {
	text, err := io.ReadAll(log)
	if err != nil {
		return err
	}
	f, found := prove.FailureIn(text)
	if !found {
		return errors.New("no walk failed, as the log on standard input has it")
	}
	fmt.Println(f.Report(compare))
	return nil
}

// proveAll proves the bug of that number, 0 for all that can be reproduced.
func proveAll(ctx context.Context, bugs []prove.Bug, issue, jobs int) error {
	chosen := slices.DeleteFunc(slices.Clone(bugs), func(b prove.Bug) bool { return issue == 0 && !b.Reproducible() || issue != 0 && b.Number != issue })
	if len(chosen) == 0 {
		return fmt.Errorf("there is no bug %d in internal/prove/bugs.yaml", issue)
	}
	if !chosen[0].Reproducible() {
		return fmt.Errorf("%d is not reproduced: %s", issue, chosen[0].Why)
	}
	byPackage := map[string][]prove.Bug{}
	for _, bug := range chosen {
		byPackage[bug.Package()] = append(byPackage[bug.Package()], bug)
	}
	for folder, list := range byPackage {
		if err := provePackage(ctx, prove.Package{Root: ".", Folder: folder}, list, jobs); err != nil {
			return err
		}
	}
	fmt.Printf("\n%d of %d: the test fails with the mistake, and passes without\n", len(chosen), len(chosen))
	return nil
}

// provePackage makes the mistakes of one package, and demands that each bug's own test
// fails with its mistake and passes without.
func provePackage(ctx context.Context, p prove.Package, bugs []prove.Bug, jobs int) (err error) {
	var mistakes []prove.Mutant
	for _, bug := range bugs {
		m, err := bug.Mutant(p.Root)
		if err != nil {
			return err
		}
		mistakes = append(mistakes, m)
	}
	batch, err := p.Build(ctx, mistakes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batch.Close()) }()
	lines, errs := make([]string, len(bugs)), make([]error, len(bugs))
	var group sync.WaitGroup
	places := make(chan struct{}, jobs)
	for i, bug := range bugs {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			lines[i], errs[i] = proveOne(ctx, batch, i, bug)
		})
	}
	group.Wait()
	fmt.Println(strings.Join(lines, "\n"))
	return errors.Join(errs...)
}

func proveOne(ctx context.Context, batch *prove.Batch, i int, bug prove.Bug) (string, error) {
	if batch.Refused(i) {
		return "", fmt.Errorf("bug %d: the mistake in %s does not compile", bug.Number, bug.File)
	}
	runs := []prove.TestRun{bug.TestRun()}
	if caughtBy, err := batch.Try(ctx, -1, runs); err != nil || caughtBy != "" {
		return "", errors.Join(fmt.Errorf("bug %d: %s fails without the mistake", bug.Number, bug.Test), err)
	}
	caughtBy, err := batch.Try(ctx, i, runs)
	if err == nil && caughtBy == "" {
		err = fmt.Errorf("bug %d: %s passes although %s", bug.Number, bug.Test, bug.Mistake)
	}
	return fmt.Sprintf("%-7d %s\n        mistake  %s: %s\n        caught   %s", bug.Number, cmp.Or(bug.What, "groups"), bug.File, bug.Mistake, caughtBy), err
}

// lead leads random lives, and prints what they came by.
func lead(ctx context.Context, seed int, limit prove.Limit) error {
	if seed == 0 {
		seed = 1 + rand.IntN(1_000_000_000)
	}
	fmt.Println("seed", seed)
	began := time.Now()
	sums, err := prove.Lead(ctx, ".", seed, limit)
	total := 0
	for _, folder := range prove.Folders(sums) {
		walks.Print(os.Stdout, folder, sums[folder])
		total += sums[folder][walks.Lives]
	}
	took := time.Since(began)
	fmt.Printf("%d lives in %s, %.0f a second, seed %d\n", total, took.Round(time.Second), float64(total)/took.Seconds(), seed)
	return err
}
