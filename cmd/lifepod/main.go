// Command lifepod runs Kubernetes Pods.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/garbage/atstart"
	"github.com/lifepod/lifepod/internal/plain"
)

func main() {
	began := time.Now()
	atstart.Over()
	log.SetOutput(plain.Writer(os.Stderr)) // of packages that log by themselves
	os.Exit(execute(context.Background(), began, os.Args[1:]))
}

// execute runs one command line and returns the process's exit code.
func execute(ctx context.Context, began time.Time, args []string) int {
	code := 0
	root := newRootCommand(began, &code)
	if isPlugin() {
		root = newPluginCommand(&code, "")
	}
	root.SetArgs(args)
	err := commandline.Error(root, root.ExecuteContext(ctx))
	return exitCode(os.Stderr, err, code)
}
