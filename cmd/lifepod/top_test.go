package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTopRows(t *testing.T) {
	at := time.Unix(100, 0)
	before := map[string]usage{"1": {"default", "web", "main", at, time.Second, 1 << 20}, "gone": {"default", "old", "main", at, time.Second, 1}}
	now := map[string]usage{
		"1": {"default", "web", "main", at.Add(2 * time.Second), 1500 * time.Millisecond, 3 << 20},
		"2": {"blue", "new", "main", at.Add(2 * time.Second), time.Second, 1 << 10},
	}
	want := [][]string{{"blue", "new", "main", "", "1KiB"}, {"default", "web", "main", "250m", "3MiB"}}
	if diff := cmp.Diff(want, topRows(before, now, func(string, string) bool { return true })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := topRows(before, now, func(namespace, _ string) bool { return namespace == "default" }); len(got) != 1 {
		t.Errorf("of one namespace: %v", got)
	}
}
