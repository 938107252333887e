package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// profileSeconds is how long the CPU is watched.
const profileSeconds = 10

// beginProfile begins to keep where lifepod's CPU goes, if somebody wants to know. The channel has a value when that is kept.
func (t *turn) beginProfile(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- t.profile(ctx, "cpu", fmt.Sprintf("profile?seconds=%d", profileSeconds)) }()
	return done
}

// profileRest keeps what lifepod has in memory, and does, while nothing happens.
func (t *turn) profileRest(ctx context.Context) error {
	for _, p := range []struct{ file, query string }{
		{"heap", "heap?gc=1"}, {"goroutine", "goroutine"}, {"rest", fmt.Sprintf("profile?seconds=%d", profileSeconds)},
	} {
		if err := t.profile(ctx, p.file, p.query); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) profile(ctx context.Context, file, query string) error {
	if t.plan.profiles == "" || t.result.program != filepath.Base(t.plan.lifepod) {
		return nil
	}
	if err := os.MkdirAll(t.plan.profiles, 0o755); err != nil {
		return err
	}
	path := fmt.Sprintf("/api/v1/nodes/%s/proxy/debug/pprof/%s", t.node.Name, query)
	data, err := t.client.CoreV1().RESTClient().Get().RequestURI(path).Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("profile of %s: %w", t.node.Name, err)
	}
	return os.WriteFile(filepath.Join(t.plan.profiles, file), data, 0o644)
}
