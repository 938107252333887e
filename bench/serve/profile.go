package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// profileSeconds is how long the CPU is watched for one file.
const profileSeconds = 10

// beginProfile begins to keep where lifepod's CPU goes, if somebody wants to know, a file after the other until end is called.
func (t *turn) beginProfile(ctx context.Context) (end func() error) {
	if !t.profiled() {
		return func() error { return nil }
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			err := t.profile(ctx, fmt.Sprintf("cpu-%03d", i), fmt.Sprintf("profile?seconds=%d", profileSeconds))
			select {
			case <-stop:
			default:
				if err == nil {
					continue
				}
			}
			done <- err
			return
		}
	}()
	return func() error {
		close(stop)
		return <-done
	}
}

// profiled says whether somebody wants to know where the CPU and the memory of this program go.
func (t *turn) profiled() bool {
	return t.plan.profiles != "" && t.result.program == filepath.Base(t.plan.lifepod)
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
	if !t.profiled() {
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
