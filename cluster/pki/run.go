package pki

import (
	"context"
	"log/slog"
	"time"
)

// renewalLook is how often [Folder.Run] looks; certificates are renewed months
// before they expire.
const renewalLook = 24 * time.Hour

// Run renews until ctx ends what is about to expire. What can't be written is
// logged, and tried again the next day.
func (f *Folder) Run(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(renewalLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := f.Refresh(); err != nil {
				log.Error("certificates of the cluster can't be renewed", "err", err)
			}
		}
	}
}
