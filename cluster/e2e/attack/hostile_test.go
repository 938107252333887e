//go:build attack

package attack

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/internal/assert"
)

// trial is an object with a hostile value.
type trial struct {
	mutation
	object runtime.Object
}

// side runs something for each of a number of things, some at a time.
func side(count int, do func(int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(count); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	group.Wait()
}

// accepted are all trials that the API server does not refuse, in the order of chance; with one for each field first.
func accepted(ctx context.Context, t *testing.T) []trial {
	fields := regexp.MustCompile(*only)
	var all []trial
	for _, object := range base() {
		_, err := create(ctx, tenant, object, metav1.DryRunAll)
		assert.Require(t, err == nil, "%T without a hostile value: %v", object, err)
		for _, m := range mutations(object) {
			if fields.MatchString(m.path) {
				all = append(all, trial{m, m.apply(object)})
			}
		}
	}
	is := make([]bool, len(all))
	side(len(all), func(i int) {
		_, err := create(ctx, tenant, all[i].object, metav1.DryRunAll)
		is[i] = err == nil
	})
	var first, rest []trial
	paths, tried := map[string]bool{}, map[string]bool{}
	for _, i := range chance.Perm(len(all)) {
		tried[all[i].path] = true
		switch {
		case !is[i]:
		case paths[all[i].path]:
			rest = append(rest, all[i])
		default:
			paths[all[i].path] = true
			first = append(first, all[i])
		}
	}
	t.Logf("%d hostile values for %d fields; %d values for %d fields are accepted", len(all), len(tried), len(first)+len(rest), len(first))
	return append(first, rest...)
}

// TestHostileValues: whatever an API server accepts of a tenant leaves the machine and other tenants as they were.
func TestHostileValues(t *testing.T) {
	ctx := t.Context()
	trials := accepted(ctx, t)
	trials = trials[:min(*pods, len(trials))]
	seen := watchPods(ctx, attacker)
	b := assert.Get(here.state()).Must(t)
	before := &b
	const batch = 40
	for from := 0; from < len(trials); from += batch {
		find(ctx, t, seen, before, trials[from:min(from+batch, len(trials))])
	}
	t.Logf("%d made", len(trials))
}

// find reports which of the trials changes the machine.
func find(ctx context.Context, t *testing.T, seen *seenPods, before *map[string]string, trials []trial) {
	changes := attempt(ctx, t, seen, before, trials)
	switch {
	case len(changes) == 0:
	case len(trials) == 1:
		t.Errorf("%s\nchanged the machine: %s", trials[0], changes)
	default:
		failed := t.Failed()
		find(ctx, t, seen, before, trials[:len(trials)/2])
		find(ctx, t, seen, before, trials[len(trials)/2:])
		assert.True(t, failed || t.Failed(), "%s\nchanged the machine together, and not one by one: %s", trials, changes)
	}
}

// attempt makes what is tried, waits until the node has done with it what it does, deletes it, and says what is not as before.
func attempt(ctx context.Context, t *testing.T, seen *seenPods, before *map[string]string, trials []trial) []string {
	t.Helper()
	var mu sync.Mutex
	var made []runtime.Object
	var uids []types.UID
	try := func(object runtime.Object) runtime.Object {
		created, err := create(ctx, tenant, object)
		if err != nil {
			return nil // of one name with another one
		}
		mu.Lock()
		defer mu.Unlock()
		made = append(made, created)
		if p, is := created.(*v1.Pod); is {
			uids = append(uids, p.UID)
		}
		return created
	}
	side(len(trials), func(i int) {
		if created := try(trials[i].object); created != nil {
			if p := user(created); p != nil {
				try(p)
			}
		}
	})
	// What can't begin may say nothing for ever: a claim whose source somebody else is to make has its pod wait.
	settling, cancel := context.WithTimeout(ctx, settlePatience)
	_ = seen.until(settling, func(p *podState) bool { return p.settled }, uids...)
	cancel()
	side(len(made), func(i int) { _ = remove(ctx, made[i]) }) // its owner may not exist
	err := seen.until(ctx, func(p *podState) bool { return p.gone }, uids...)
	assert.Require(t, err == nil, "%s\ndeleted pods: %v", trials, err)
	return compare(ctx, t, before)
}

// settlePatience is how long a node may take with all that is tried together.
const settlePatience = time.Minute

// backPatience is for what is taken back later: the node looks for volumes that are staged for no pod once a minute.
const backPatience = 3 * time.Minute

// compare waits until the machine is as it was. If it does not become so, what can be is restored, and what is then counts as before.
func compare(ctx context.Context, t *testing.T, before *map[string]string) (changes []string) {
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, backPatience, true, func(context.Context) (bool, error) {
		after, err := here.state()
		changes = differences(*before, after)
		return len(changes) == 0, err
	})
	if err != nil && !wait.Interrupted(err) {
		t.Fatal(err)
	}
	assert.Require(t, !here.seen.pods[here.uid].gone, "the victim is gone")
	if len(changes) > 0 {
		if err := here.plant(); err != nil {
			t.Fatal(fmt.Errorf("after %s: %w", changes, err))
		}
		t.Logf("not as before: %s", changes)
		*before, err = here.state()
		assert.Must(t, err)
	}
	return changes
}
