package e2e

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestManyAtOnce: several lifepods share a root that none has used before, and
// it is empty when the last has ended; another root is another world.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for _, r := range []*root{newRoot(t), newRoot(t)} {
		for n := range 4 {
			group.Go(func() {
				got := r.run(t, script(fmt.Sprint("pod-", n), fmt.Sprintf("echo %d; exit %d", n, n)))
				if got.code != n || got.stdout != fmt.Sprintln(n) {
					t.Errorf("pod %d: exit code %d: %s%s", n, got.code, got.stdout, got.stderr)
				}
			})
		}
	}
	group.Wait()
}

// TestAddresses: pods that run at the same time have different addresses.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var running []*command
	seen := map[string]bool{}
	for n := range 3 {
		c := shared.startRun(t, script(fmt.Sprint("pod-", n), "echo up; sleep infinity"))
		running = append(running, c)
	}
	for _, c := range running {
		ip := strings.TrimPrefix(c.await(c.stderr, `address 10[0-9.]+`), "address ")
		if seen[ip] {
			t.Errorf("address %s was given twice", ip)
		}
		seen[ip] = true
	}
	for _, c := range running {
		c.await(c.stdout, "up")
		c.await(c.stderr, "pod Ready")
		c.signal(syscall.SIGINT)
	}
	for _, c := range running {
		if got := c.wait(); got.code != 130 {
			t.Errorf("exit code %d\n%s", got.code, got.stderr)
		}
	}
}
