package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// What only lifepod has is said to be there, with whatever flags, and is no manifest's name.
func TestCommandsOfLifepod(t *testing.T) {
	for _, args := range [][]string{{"record", "web"}, {"serve", "--listen", "unix:///run/sim.sock"}, {"nodes", "--count=3"}} {
		code := 0
		root := newRoot(&code)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(args)
		err := root.ExecuteContext(t.Context())
		want := args[0] + ": only lifepod has this command, on Linux, as lifepod sim " + args[0] + ": "
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), want), "%v: %v, want %s", args, err, want)
	}
}
