package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"parts": "build\t61\t0\nunit tests\t120\t1\n",
		"unit.json": `{"Action":"run","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce"}
{"Action":"output","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce","Output":"=== RUN   TestOnce\n"}
{"Action":"output","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce/slow","Output":"    once_test.go:7: late\n"}
{"Action":"fail","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce/slow","Elapsed":1}
{"Action":"fail","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce","Elapsed":1.5}
{"Action":"pass","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestAlways","Elapsed":0.25}
{"Action":"output","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestNever","Output":"    never_test.go:3: no\n"}
{"Action":"fail","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestNever","Elapsed":0}
{"Action":"fail","Package":"github.com/lifepod/lifepod/worker/probe","Elapsed":2}
{"Action":"pass","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce/slow","Elapsed":0.5}
{"Action":"pass","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce","Elapsed":0.5}
{"Action":"fail","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestNever","Elapsed":0}
`,
		"again.json": `{"Action":"pass","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce/slow","Elapsed":0}
{"Action":"pass","Package":"github.com/lifepod/lifepod/worker/probe","Test":"TestOnce","Elapsed":0}
`,
	} {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	r := assert.Get(read(dir)).Must(t)
	const want = `     1m1s  build
     2m0s  unit tests: failed, exit code 1
     3m1s  together
the slowest tests:
     1.5 s  worker/probe.TestOnce
     1.0 s  worker/probe.TestOnce/slow
     0.2 s  worker/probe.TestAlways
     0.0 s  worker/probe.TestNever
     0.0 s  worker/probe.TestOnce
     0.0 s  worker/probe.TestOnce/slow
FLAKY: worker/probe.TestOnce, first failure: slow: once_test.go:7: late
`
	got := r.String()
	assert.True(t, got == want, "got:\n%s\nwant:\n%s", got, want)
}
