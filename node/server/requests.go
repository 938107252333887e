package server

import (
	"net/http"
	"sync"
)

// requests are those under way, also those whose connections were hijacked,
// which a http.Server forgets.
type requests struct {
	mu    sync.Mutex
	count int
	over  chan struct{} // closed when there is none and none may begin any more; nil before end
}

// counted passes requests on until the end.
func (q *requests) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !q.begin() {
			refuse(w, http.StatusServiceUnavailable, "the node's API is ending")
			return
		}
		defer q.done()
		next.ServeHTTP(w, r)
	})
}

func (q *requests) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over != nil {
		return false
	}
	q.count++
	return true
}

func (q *requests) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count--; q.count == 0 && q.over != nil {
		close(q.over)
	}
}

// end lets no more requests begin; what it returns is closed when the last one
// is over. Called once.
func (q *requests) end() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = make(chan struct{})
	if q.count == 0 {
		close(q.over)
	}
	return q.over
}
