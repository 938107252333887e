package prove

import (
	"bytes"
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

	"github.com/lifepod/lifepod/internal/prove/counts"
)

// Walks are the random walks of one package, led in rounds: each a process with the next
// seed, so that a round can be repeated alone.
type Walks struct {
	Folder string
	Tests  string // which, as `go test -run` takes them
	Checks int    // of a round, for each test; too few for a round alone to come by every rare branch
	Share  int    // of ten lives, where a number is asked for

	compare int // Limit.Compare
}

// AllWalks are those of both machines. A life of a pod in a roster is much cheaper than one
// in a machine of its own.
var AllWalks = []Walks{
	{Folder: "lifecycle", Tests: "Walks$|^TestAdoptQuiet$", Checks: 400, Share: 1},
	{Folder: "roster", Tests: "RandomWalks$", Checks: 1000, Share: 9}, // TestConvergingWalks is yet to be led for as long
}

// enough is how many lives must have come by every rare branch.
const enough = 10_000

// Limit is when to stop: after a time, or after that many lives.
type Limit struct {
	For    time.Duration
	Lives  int
	Checks int // of a round, if not the usual ones
	// Compare is after how many steps a machine is compared with its clone; 0: after each.
	Compare int
}

// Lead leads all walks side by side until the limit, and sums up what they came by. The
// error has the log of the round that failed, with what leads to it.
func Lead(ctx context.Context, root string, seed int, limit Limit) (map[string]map[string]int, error) {
	sums, errs := make([]map[string]int, len(AllWalks)), make([]error, len(AllWalks))
	var group sync.WaitGroup
	for i, w := range AllWalks {
		group.Go(func() { sums[i], errs[i] = w.lead(ctx, root, seed, limit) })
	}
	group.Wait()
	byFolder := map[string]map[string]int{}
	for i, w := range AllWalks {
		byFolder[w.Folder] = sums[i]
		if errs[i] != nil {
			return byFolder, errs[i]
		}
	}
	return byFolder, nil
}

func (w Walks) lead(ctx context.Context, root string, seed int, limit Limit) (sum map[string]int, err error) {
	sum = map[string]int{}
	work, err := os.MkdirTemp("", "walks")
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	binary := filepath.Join(work, "package.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "./"+w.Folder)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return sum, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	began := time.Now()
	w.Checks, w.compare = cmp.Or(limit.Checks, w.Checks), max(1, limit.Compare)
	for ; ; seed++ {
		if limit.For > 0 && time.Since(began) >= limit.For || limit.Lives > 0 && sum[counts.Lives] >= limit.Lives*w.Share/10 {
			break
		}
		if err := round(ctx, w.command(ctx, binary, root, seed), sum); err != nil {
			return sum, fmt.Errorf("%w; again: go test ./%s -run '%s' -rapid.seed=%d -rapid.checks=%d -compare=%d",
				err, w.Folder, w.Tests, seed, w.Checks, w.compare)
		}
	}
	if unreached := counts.Unreached(sum); sum[counts.Lives] >= enough && len(unreached) > 0 {
		return sum, fmt.Errorf("no walk of %s came by %q: the walks do not prove what they should", w.Folder, unreached)
	}
	return sum, nil
}

// command leads the walks of one seed.
func (w Walks) command(ctx context.Context, binary, root string, seed int) *exec.Cmd {
	command := exec.CommandContext(ctx, binary, "-test.run", w.Tests, "-test.v", "-test.timeout=0",
		fmt.Sprintf("-rapid.seed=%d", seed), fmt.Sprintf("-rapid.checks=%d", w.Checks), fmt.Sprintf("-compare=%d", w.compare), "-rapid.shrinktime=1m")
	command.Dir = filepath.Join(root, w.Folder)
	// Of a walk nothing is kept: collecting the heap seldom saves a quarter of the time.
	command.Env = append(os.Environ(), "GOGC=400", fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.NumCPU()/len(AllWalks))))
	return command
}

func round(ctx context.Context, command *exec.Cmd, sum map[string]int) error {
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s\n%w", out, err)
	}
	return counts.Add(sum, bytes.NewReader(out))
}

// Folders lists the packages of a sum in order.
func Folders(sums map[string]map[string]int) []string { return slices.Sorted(maps.Keys(sums)) }
