package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// profile begins a profile of the API server, if logs are wanted, for as long as the same took the last time. end waits for it.
func (b *bench) profile(ctx context.Context, what string) (end func() error) {
	long, again := b.last[what]
	if b.plan.logs == "" || !again {
		return func() error { return nil }
	}
	written := make(chan error, 1)
	go func() {
		seconds := max(1, int(long.Round(time.Second)/time.Second))
		get := b.client.CoreV1().RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", fmt.Sprint(seconds))
		text, err := get.Do(ctx).Raw()
		if err == nil {
			err = os.WriteFile(filepath.Join(b.plan.logs, "apiserver-"+what+".prof"), text, 0o600)
		}
		written <- err
	}()
	return func() error { return <-written }
}
