package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// profileSeconds is how long the CPU is watched.
const profileSeconds = 20

// profile keeps what lifepod's profiler says, if somebody wants to know.
func (s *side) profile(ctx context.Context) error {
	if s.profiles == "" || s.name != lifepod {
		return nil
	}
	if err := os.MkdirAll(s.profiles, 0o755); err != nil {
		return err
	}
	for file, query := range map[string]string{
		"profile":   fmt.Sprintf("profile?seconds=%d", profileSeconds),
		"heap":      "heap?gc=1",
		"memory":    "heap?debug=1", // with the figures of all memory
		"goroutine": "goroutine",
	} {
		path := fmt.Sprintf("/api/v1/nodes/%s/proxy/debug/pprof/%s", s.member.Name, query)
		data, err := s.api.CoreV1().RESTClient().Get().RequestURI(path).Do(ctx).Raw()
		if err != nil {
			return fmt.Errorf("profile of %s: %w", s.name, err)
		}
		if err := os.WriteFile(filepath.Join(s.profiles, s.name+"."+file), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
