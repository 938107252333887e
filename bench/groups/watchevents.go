package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
)

// watchEvents are how many events of pods the API server has sent to all that watch them, as its metrics count them.
func (b *bench) watchEvents(ctx context.Context) (float64, error) {
	text, err := b.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask the API server for its metrics: %w", err)
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("apiserver_watch_events_total{")) && bytes.Contains(line, []byte(`resource="pods"`)) {
			return strconv.ParseFloat(string(bytes.TrimSpace(line[bytes.LastIndexByte(line, ' ')+1:])), 64)
		}
	}
	return 0, nil
}
