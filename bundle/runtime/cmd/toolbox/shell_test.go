package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

func TestShell(t *testing.T) {
	b := newBox(t)
	for _, tt := range []struct {
		name, script string
		want         outcome
	}{
		{"exit code", `echo hi; exit 3`, outcome{"hi\n", 3}},
		{"variables", `X=5; echo "$GREETING $((X+1)) ${Y:-default}"; unset GREETING; env | grep GREETING`, outcome{"hello 6 default\n", 1}},
		{"loops", `for i in 1 2; do echo $i; done; n=0; while [ $n -lt 2 ]; do n=$((n+1)); sleep 0; done; echo $n`, outcome{"1\n2\n2\n", 0}},
		{"redirections", `echo a >f; echo b >>f; cat <f; cat nosuch 2>/dev/null || echo failed`, outcome{"a\nb\nfailed\n", 0}},
		{"pipe", `printf 'a\nb\n' | grep -v a | cat`, outcome{"b\n", 0}},
		{"here document", "cat <<E\n$GREETING\nE", outcome{"hello\n", 0}},
		{"function", `f() { echo "f $1"; return 7; }; f x; echo $?`, outcome{"f x\n7\n", 0}},
		{"parameters", `echo $1 $#`, outcome{"one 2\n", 0}},
		{"command not found", `nosuch; echo $?`, outcome{"127\n", 0}},
		{"syntax error", `if`, outcome{"", 2}},
		{"set -e", `set -e; false; echo no`, outcome{"", 1}},
		{"exported variable", `export V=1; V=2; sh -c 'echo $V'`, outcome{"2\n", 0}},
		{"script without #!", `echo 'echo "ran $1"; exit 6' >s; chmod 755 s; ./s it; echo $?`, outcome{"ran it\n6\n", 0}},
		{"exec", `exec echo replaced; echo no`, outcome{"replaced\n", 0}},
		{"exec with redirection", `exec echo to-file >f; echo no`, outcome{"", 0}},
		{"exec of what isn't there", `exec nosuch; echo no`, outcome{"", 127}},
		{"process ID", `sh -c 'exec test $$ -gt 1'`, outcome{"", 0}},
		{"EXIT trap", `trap 'echo bye' EXIT; exit 4`, outcome{"bye\n", 4}},
		{"EXIT trap at the end", `trap 'echo "bye $?"' EXIT; (exit 5)`, outcome{"bye 5\n", 5}},
		{"trap 0", `trap 'echo bye' 0; echo work`, outcome{"work\nbye\n", 0}},
		{"no trap", `kill -TERM $$; while true; do sleep 0.01; done`, outcome{"", 143}},
		{"trap in a loop", `trap 'echo term; exit 9' TERM; kill -TERM $$; while true; do sleep 0.01; done`, outcome{"term\n", 9}},
		{"trap goes on", `trap 'echo usr' USR1; kill -USR1 $$; sleep 0.05; echo after`, outcome{"usr\nafter\n", 0}},
		{"trap at the end", `trap 'echo usr' USR1; kill -USR1 $$; sleep 0.05`, outcome{"usr\n", 0}},
		{"trap sees variables", `v=1; trap 'echo $v; exit' INT; v=2; kill -INT $$; while :; do sleep 0.01; done`, outcome{"2\n", 0}},
		{"ignored", `trap '' TERM; kill -TERM $$; sleep 0.05; echo alive`, outcome{"alive\n", 0}},
		{"reset", `trap 'echo no' TERM; trap - TERM; kill -TERM $$; while true; do sleep 0.01; done`, outcome{"", 143}},
		{"several signals", `trap 'echo one; exit 1' INT TERM; kill -s INT $$; while true; do sleep 0.01; done`, outcome{"one\n", 1}},
		{"unknown signal", `trap 'x' NOSUCH; echo $?`, outcome{"1\n", 0}},
		{"wait is interrupted", `trap 'n=1' TERM; sleep 1 & (while true; do kill -TERM $$; sleep 0.05; done) & wait; echo $? $n`, outcome{"143 1\n", 0}},
		{"wait for a job", `(exit 6) & wait $!; echo $?`, outcome{"6\n", 0}},
		{"kill no process", `kill g7 2>/dev/null; echo $?`, outcome{"1\n", 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, b.run(t, "", "sh", "-c", tt.script, "name", "one", "two")); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tt.script, diff)
			}
		})
	}
}

func TestShellReadsScripts(t *testing.T) {
	b := newBox(t)
	b.run(t, "", "write", "script", "echo $1; exit 3")
	for _, tt := range []struct {
		name  string
		stdin string
		args  []string
		want  outcome
	}{
		{"file", "", []string{"sh", "script", "arg"}, outcome{"arg\n", 3}},
		{"standard input", "echo in; exit 2", []string{"sh"}, outcome{"in\n", 2}},
		{"options", "", []string{"sh", "-ec", "false; echo no"}, outcome{"", 1}},
		{"no such file", "", []string{"sh", "nosuch"}, outcome{"", 2}},
		{"options apart", "", []string{"sh", "-c", "-u", "echo $A; echo no"}, outcome{"", 1}},
		{"no such option", "", []string{"sh", "-q"}, outcome{"", 2}},
		{"-c alone", "", []string{"sh", "-c"}, outcome{"", 2}},
	} {
		assert.Deep(t, tt.name, tt.want, b.run(t, tt.stdin, tt.args...))
	}
}
