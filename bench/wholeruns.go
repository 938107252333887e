package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifepod/lifepod/bench/times"
)

// command is lifepod as people run it, on a state folder.
type command struct{ binary, root string }

func (c command) do(ctx context.Context, args ...string) error {
	line := exec.CommandContext(ctx, c.binary, append(args, "--root", c.root)...) //nolint:gosec // the arguments are ours
	if said, err := line.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(line.Args, " "), err, said)
	}
	return nil
}

// runs measures lifepod run of so many pods that run true, from the start of the process until nothing is left of them.
func (c command) runs(what string, pods int) func(context.Context, times.Record) error {
	return func(ctx context.Context, record times.Record) error {
		file, err := manifest(filepath.Dir(c.root), pods, "true")
		if err != nil {
			return err
		}
		began := time.Now()
		if err := c.do(ctx, "run", file); err != nil {
			return err
		}
		record("lifepod "+what, time.Since(began))
		return nil
	}
}

// manifest writes a file of pods that run a command.
func manifest(dir string, pods int, words ...string) (string, error) {
	var text strings.Builder
	for i := range pods {
		_, _ = fmt.Fprintf(&text, podManifest, i, strings.Join(words, `", "`)) // to memory
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.yaml", words[0], pods))
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}

const podManifest = `---
apiVersion: v1
kind: Pod
metadata: {name: bench-%d}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: "lifepod.dev/toolbox:1", command: ["%s"]}
`
