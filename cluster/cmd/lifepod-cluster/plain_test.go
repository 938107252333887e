package main

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/commandline/helpcheck"
)

func TestHelp(t *testing.T) { helpcheck.Check(t, newRootCommand()) }

// TestPlain: text of nodes, add-ons and errors reaches the terminal without control characters.
func TestPlain(t *testing.T) {
	const evil = "\x1b[2J\u009b\r\nAlarm:\tnone"
	var out strings.Builder
	status := cluster.Status{Process: 1, Alarms: []string{evil}, Addons: []string{evil}}
	status.Nodes = append(status.Nodes, cluster.NodeStatus{Name: evil, State: evil, Version: evil})
	assert.Must(t, printStatus(&out, "", status))
	exitCode(&out, errors.New("\x1b[2J\u009b"))
	assert.True(t, !strings.ContainsFunc(out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }),
		"control characters in %q", out.String())
	n := strings.Count(out.String(), "\nAlarm:")
	assert.True(t, n == 1, "%d alarms in\n%s", n, out.String())
}
