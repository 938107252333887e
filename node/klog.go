package node

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"
)

// QuietKlog sends what Kubernetes' libraries log of themselves to log as details:
// what matters of it is told by those who use them.
func QuietKlog(log *slog.Logger) { klog.SetSlogLogger(slog.New(details{log.Handler()})) }

// details makes every record one for people who look for a cause.
type details struct{ slog.Handler }

// Enabled is as for details.
func (d details) Enabled(ctx context.Context, _ slog.Level) bool {
	return d.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle handles the record as a detail. klog doesn't ask whether errors are wanted.
func (d details) Handle(ctx context.Context, r slog.Record) error {
	if !d.Enabled(ctx, r.Level) {
		return nil
	}
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r)
}

// WithAttrs is the same with attributes.
func (d details) WithAttrs(attrs []slog.Attr) slog.Handler {
	return details{d.Handler.WithAttrs(attrs)}
}

// WithGroup is the same in a group.
func (d details) WithGroup(name string) slog.Handler { return details{d.Handler.WithGroup(name)} }
