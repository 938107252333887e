package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Walks are the random walks of one package, led in runs: each a process with the next
// seed, so that a run can be repeated alone.
type Walks struct {
	Folder string
	Tests  string // which, as `go test -run` takes them
	Checks int    // of a run, for each test; too few for one run alone to come by every rare branch
	Share  int    // of a thousand lives, where a number is asked for
	// Compare is after how many steps a machine is compared with its clone; 0: they compare none.
	Compare int
}

// AllWalks are those of both machines, and of the shell around them. A life of a pod in a roster is much cheaper than one
// in a machine of its own, and one with its worker takes the longest.
var AllWalks = []Walks{
	{Folder: "lifecycle", Tests: "Walks$|^TestAdoptQuiet$", Checks: 400, Share: 100, Compare: 1},
	{Folder: "roster", Tests: "Walks$", Checks: 1000, Share: 890, Compare: 1},
	{Folder: "pods", Tests: "Walks$", Checks: 200, Share: 10},
}

// enough is how many lives must have come by every rare branch.
const enough = 10_000

// Limit is when to stop: after a time, or after that many lives.
type Limit struct {
	For    time.Duration
	Lives  int
	Checks int // of a run, if not the usual ones
	// Compare is after how many steps a machine is compared with its clone; 0: as usual.
	Compare int
}

// Lead leads all walks side by side until the limit, one run on each processor, and sums up
// what they came by. The error has the log of the run that failed, with what leads to it.
func Lead(ctx context.Context, root string, seed int, limit Limit) (sums map[string]map[string]int, err error) {
	sums = map[string]map[string]int{}
	work, err := os.MkdirTemp("", "walks")
	if err != nil {
		return sums, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	l := &leader{limit: limit, progress: os.Stderr}
	for _, w := range AllWalks {
		w.Checks = cmp.Or(limit.Checks, w.Checks)
		if w.Compare > 0 {
			w.Compare = cmp.Or(limit.Compare, w.Compare)
		}
		binary := filepath.Join(work, w.Folder+".test")
		if err := w.build(ctx, root, binary); err != nil {
			return sums, err
		}
		c := newCourse(ctx, w, func(ctx context.Context, i int) *exec.Cmd { return w.command(ctx, binary, root, seed+i) })
		defer c.end()
		l.courses = append(l.courses, c)
		sums[w.Folder] = c.sum
	}
	l.began = time.Now()
	var group sync.WaitGroup
	for range runtime.NumCPU() {
		group.Go(l.lead)
	}
	group.Wait()
	if ctx.Err() != nil {
		return sums, ctx.Err()
	}
	for _, c := range l.courses {
		if err := c.verdict(seed); err != nil {
			return sums, err
		}
	}
	return sums, nil
}

// build compiles the tests of the walks.
func (w Walks) build(ctx context.Context, root, binary string) error {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "./"+w.Folder)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return nil
}

// command leads the walks of one seed.
func (w Walks) command(ctx context.Context, binary, root string, seed int) *exec.Cmd {
	command := exec.CommandContext(ctx, binary, append([]string{"-test.run", w.Tests, "-test.v", "-test.timeout=0", "-rapid.shrinktime=1m"}, w.flags(seed)...)...)
	command.Dir = filepath.Join(root, w.Folder)
	// Of a walk nothing is kept: collecting the heap seldom saves a quarter of the time.
	command.Env = append(os.Environ(), "GOGC=400", "GOMAXPROCS=1")
	return command
}

// flags are those that say which walks.
func (w Walks) flags(seed int) []string {
	flags := []string{fmt.Sprintf("-rapid.seed=%d", seed), fmt.Sprintf("-rapid.checks=%d", w.Checks)}
	if w.Compare > 0 {
		flags = append(flags, fmt.Sprintf("-compare=%d", w.Compare))
	}
	return flags
}

// Folders lists the packages of a sum in order.
func Folders(sums map[string]map[string]int) []string { return slices.Sorted(maps.Keys(sums)) }
