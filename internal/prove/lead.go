package prove

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// leader has each processor run the next process of the course that has come least far.
type leader struct {
	limit    Limit
	progress io.Writer // is told at once which course has failed; nil: nobody is
	began    time.Time

	mu      sync.Mutex
	courses []*course
}

// course is all runs of one package's walks. They end in any order and are summed up in that
// of their seeds, so that a number of lives is always the same lives.
type course struct {
	Walks
	command func(ctx context.Context, i int) *exec.Cmd // of run i
	ctx     context.Context                            // ends with the course
	end     context.CancelFunc

	next    int             // the run that begins next
	running int             // runs
	ended   map[int]outcome // that wait for an earlier one
	summed  int             // runs
	sum     map[string]int
	over    bool
	failed  outcome // run summed, if its walks failed, or its counts can't be read
}

// outcome is what a run came by.
type outcome struct {
	log []byte
	err error
}

func newCourse(ctx context.Context, w Walks, command func(context.Context, int) *exec.Cmd) *course {
	c := &course{Walks: w, command: command, ended: map[int]outcome{}, sum: map[string]int{}}
	c.ctx, c.end = context.WithCancel(ctx)
	return c
}

// lead leads one run after the other, until none is left to begin.
func (l *leader) lead() {
	for {
		c, i := l.begin()
		if c == nil {
			return
		}
		log, err := c.command(c.ctx, i).CombinedOutput()
		l.file(c, i, outcome{log, err})
	}
}

// begin is a run to lead; nil: there is none.
func (l *leader) begin() (least *course, i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.courses {
		if l.limit.For > 0 && time.Since(l.began) >= l.limit.For || c.ctx.Err() != nil {
			c.over = true
		}
		if !c.over && (least == nil || c.behind(least)) {
			least = c
		}
	}
	if least == nil {
		return nil, 0
	}
	i = least.next
	least.next++
	least.running++
	return least, i
}

// behind says whether fewer processors lead c than other or, if as many do, whether it has come less far.
func (c *course) behind(other *course) bool {
	if c.running != other.running {
		return c.running < other.running
	}
	return c.sum[walks.Lives]*other.Share < other.sum[walks.Lives]*c.Share
}

// file files a run that has ended, and sums up those that were waiting for it.
func (l *leader) file(c *course, i int, r outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.running--
	c.ended[i] = r
	for {
		r, is := c.ended[c.summed]
		if !is {
			return
		}
		delete(c.ended, c.summed)
		if r.err == nil {
			r.err = walks.Add(c.sum, bytes.NewReader(r.log))
		}
		if r.err != nil {
			c.failed = r
		}
		if r.err != nil || l.limit.Lives > 0 && c.sum[walks.Lives] >= l.limit.Lives*c.Share/1000 {
			c.over = true
			c.end() // runs beyond it
			if r.err != nil && l.progress != nil {
				fmt.Fprintf(l.progress, "%s: a walk failed after %d lives, which is told when the other walks have ended\n", c.Folder, c.sum[walks.Lives])
			}
			return
		}
		c.summed++
	}
}

// verdict is what went wrong in the course whose first run has that seed.
func (c *course) verdict(seed int) error {
	if f, found := FailureIn(c.failed.log); found {
		f.Folder = c.Folder
		return fmt.Errorf("%s: a walk fails, after %s others of seed %d\n\n%s", c.Folder, f.After, seed+c.summed, f.Report(c.Compare))
	}
	if err := c.failed.err; err != nil {
		return fmt.Errorf("%s%w; again: go test ./%s -run '%s' %s", withoutNoise(c.failed.log), err, c.Folder, c.Tests, strings.Join(c.flags(seed+c.summed), " "))
	}
	if unreached := walks.Unreached(c.sum); c.sum[walks.Lives] >= enough && len(unreached) > 0 {
		return fmt.Errorf("no walk of %s came by %q: the walks do not prove what they should", c.Folder, unreached)
	}
	return nil
}
