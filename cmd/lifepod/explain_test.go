package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestExplain: a rule as text, an area's rules, the chapters, and what is near to a
// rule that there is none of.
func TestExplain(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	const rule = "A-RST-6"
	for args, want := range map[string][]string{
		"":                  {"Termination and recovery\n", "  A-RST, A-BO                  Restarts\n"},
		rule + " a-rst-7":   {rule + "  (Restarts, docs/contract/startup/restarts.md#a-rst-6)\n\nRules look at the exit code", "restarts.md#a-rst-7", "Source: `pkg/api/v1/pod/util.go`"},
		"A-RST":             {rule + "    Rules look at the exit code, however the process ended\n"},
		"crashloopbackoff":  {"CrashLoopBackOff\n\nThe container has ended more than once", "\nRules: A-BO-2, A-BO-3"},
		"FailedPreStopHook": {"B-HOOK-4   A hook that fails is reported without details"},
		"Nonsense":          {"there is no rule or word Nonsense: want a number such as A-RST-1, an area such as A-RST, or a word such as CrashLoopBackOff"},
		"--lang zh":         {"词语\nPending, ", "  A-RST, A-BO                  重启\n"},
		"--lang zh sidecar": {"sidecar\n\nrestartPolicy 为 Always 的 Init 容器，即边车容器。轮到它时启动，与应用容器一起运\n行，在它们之后停止。它的退出码"},
		"--lang zh " + rule: {"规则原文是英文。\n\n" + rule},
		"rst-6":             {"there is no rule or word rst-6; did you mean " + rule + " or "},
	} {
		command := newExplainCommand()
		var out bytes.Buffer
		command.SetOut(&out)
		command.SetErr(&out)
		command.SetArgs(strings.Fields(args))
		_ = command.Execute() // cobra prints the error as well
		for _, text := range want {
			assert.True(t, strings.Contains(out.String(), text), "lifepod explain %s printed\n%s\nwant %q in it", args, &out, text)
		}
	}
}
