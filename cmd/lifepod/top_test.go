package main

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestTopRows(t *testing.T) {
	at := time.Unix(100, 0)
	before := map[string]usage{"1": {"default", "web", "main", at, time.Second, 1 << 20}, "gone": {"default", "old", "main", at, time.Second, 1}}
	now := map[string]usage{
		"1": {"default", "web", "main", at.Add(2 * time.Second), 1500 * time.Millisecond, 3 << 20},
		"2": {"blue", "new", "main", at.Add(2 * time.Second), time.Second, 1 << 10},
	}
	want := [][]string{{"blue", "new", "main", "", "1KiB"}, {"default", "web", "main", "250m", "3MiB"}}
	assert.Deep(t, "", want, topRows(before, now, func(string, string) bool { return true }))
	got := topRows(before, now, func(namespace, _ string) bool { return namespace == "default" })
	assert.True(t, len(got) == 1, "of one namespace: %v", got)
}
