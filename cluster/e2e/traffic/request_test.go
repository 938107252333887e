package traffic

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// visitor makes a new connection for each request, as each is a decision anew.
var visitor = http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

// visit is which pod answers.
func visit(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/hostname", nil)
	if err != nil {
		return "", err
	}
	answer, err := visitor.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", answer.Status)
	}
	return strings.TrimSpace(string(body)), err
}

func tell(t *testing.T, address, what string) {
	t.Helper()
	answer := assert.Get(visitor.Post("http://"+address+"/"+what, "", nil)).Must(t)
	_ = answer.Body.Close()
}

// many are so many visits that each of two pods has one, but once in 10^12 times.
const many = 40

// visited are the pods that answer many visits, each with its number of them.
func visited(t *testing.T, address string) map[string]int {
	t.Helper()
	pods := map[string]int{}
	for range many {
		pod, err := visit(t.Context(), address)
		assert.Require(t, err == nil, "visit %s: %v", address, err)
		pods[pod]++
	}
	return pods
}

// awaitAnswer is the address of a Service, once a visit is answered: it leads to pods a moment after their Deployment is available,
// and refuses until then.
func awaitAnswer(t *testing.T, name string) string {
	t.Helper()
	address := clusterIP(t, name)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, err := visit(t.Context(), address)
		if err == nil {
			return address
		}
		assert.Require(t, !time.Now().After(end), "visit %s: %v", address, err)
	}
}

// awaitPods visits until so many pods answer.
func awaitPods(t *testing.T, address string, want int) map[string]int {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		pods := visited(t, address)
		if len(pods) == want {
			return pods
		}
		assert.Require(t, !time.Now().After(end), "%s is answered by %v, want %d pods", address, pods, want)
	}
}

// visitAlways visits about 100 times a second until stop, which returns how many
// visits there were. Each one that gets no answer fails the test.
func visitAlways(t *testing.T, address string) (stop func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	var visits sync.WaitGroup
	n := 0
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			n++
			number := n
			visits.Go(func() {
				_, err := visit(t.Context(), address)
				assert.True(t, err == nil, "%s, visit %d of %s: %v", time.Now().Format(time.StampMilli), number, address, err)
			})
		}
	}()
	return func() int {
		cancel()
		<-begun
		visits.Wait()
		return n
	}
}
