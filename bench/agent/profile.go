package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lifepod/lifepod/bench/testbed"
)

// profileSeconds is how long the CPU is watched.
const profileSeconds = 20

// profileIdle keeps what lifepod's profiler says of pods that do nothing, if somebody
// wants to know.
func (s *side) profileIdle(ctx context.Context) error {
	for file, query := range map[string]string{
		"profile":   fmt.Sprintf("profile?seconds=%d", profileSeconds),
		"heap":      "heap?gc=1",
		"memory":    "heap?debug=1", // with the figures of all memory
		"goroutine": "goroutine",
	} {
		if err := s.profile(ctx, file, query); err != nil {
			return err
		}
	}
	return nil
}

// profileDuring keeps where lifepod's CPU goes from the beginning of something. It takes as long as the
// profile.
func (s *side) profileDuring(ctx context.Context, file string, do func() error) error {
	profiled := make(chan error, 1)
	go func() { profiled <- s.profile(ctx, file, fmt.Sprintf("profile?seconds=%d", profileSeconds)) }()
	return errors.Join(do(), <-profiled)
}

func (s *side) profile(ctx context.Context, file, query string) error {
	if s.plan.profiles == "" || s.Name != testbed.Lifepod {
		return nil
	}
	if err := os.MkdirAll(s.plan.profiles, 0o755); err != nil {
		return err
	}
	path := fmt.Sprintf("/api/v1/nodes/%s/proxy/debug/pprof/%s", s.Member.Name, query)
	data, err := s.API.CoreV1().RESTClient().Get().RequestURI(path).Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("profile of %s: %w", s.Name, err)
	}
	return os.WriteFile(filepath.Join(s.plan.profiles, s.Name+"."+file), data, 0o644)
}
