package join

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// repeatAfter is how often client-go may say the same while the API server is away.
const repeatAfter = 10 * time.Minute

// quiet gives client-go a logger that tells what it did at slog's debug level, errors
// as such, and nothing twice within a short time.
func quiet(log *slog.Logger) logr.Logger {
	handler := seldom{log.Handler(), &recent{last: map[string]time.Time{}}}
	return logr.FromSlogHandler(handler).V(int(-slog.LevelDebug))
}

// seldom drops messages that were said a short time ago, whatever their attributes.
type seldom struct {
	slog.Handler
	recent *recent
}

type recent struct {
	mu   sync.Mutex
	last map[string]time.Time // by message, of which client-go has few
}

// Handle passes a message on unless it repeats one.
func (s seldom) Handle(ctx context.Context, r slog.Record) error {
	s.recent.mu.Lock()
	last, repeated := s.recent.last[r.Message]
	repeated = repeated && r.Time.Sub(last) < repeatAfter
	if !repeated {
		s.recent.last[r.Message] = r.Time
	}
	s.recent.mu.Unlock()
	if repeated {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

// WithAttrs keeps what was said.
func (s seldom) WithAttrs(attrs []slog.Attr) slog.Handler {
	return seldom{s.Handler.WithAttrs(attrs), s.recent}
}

// WithGroup keeps what was said.
func (s seldom) WithGroup(name string) slog.Handler {
	return seldom{s.Handler.WithGroup(name), s.recent}
}
