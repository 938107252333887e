package prove

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestReplacingIsUnambiguous(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"p/p.go": "package p\n\nfunc plan() { first(); first(); second() }\n"})
	m, err := Replacing(root, "p/p.go", "second()", "third()")
	assert.True(t, err == nil && m.File == "p/p.go" && strings.Contains(m.Text, "first(); first(); third() }"), "got %+v, %v", m, err)
	for _, old := range []string{"absent", "first()"} {
		assert.Fails(t, assert.ErrorOf(Replacing(root, "p/p.go", old, "x")), old, " was replaced")
	}
}

// TestTry: a mistake is made when it is asked for, and none when none is.
func TestTry(t *testing.T) {
	root := t.TempDir()
	const source = `package p

import "strings"

type counter struct{ n int }

func (c *counter) add(by ...int) {
	for _, n := range by {
		c.n += n
	}
}

func shout(text string) (loud string) { return strings.ToUpper(text) }

func generic[T any](v T) T { return v }
`
	write(t, root, map[string]string{
		"go.mod": "module p\n\ngo 1.26\n",
		"p/p.go": source,
		"p/p_test.go": `package p

import "testing"

func TestAdd(t *testing.T) {
	c := &counter{}
	if c.add(generic(1), 2); c.n != 3 {
		t.Fatal(c.n)
	}
}

func TestShout(t *testing.T) {
	if shout("a") != "A" {
		t.Fatal("quiet")
	}
}
`,
	})
	p, all := Package{root, "p"}, "."
	got, err := p.Try(t.Context(), nil, all)
	assert.True(t, err == nil && got == "", "no mistake is caught by %q (%v)", got, err)
	for change, want := range map[[2]string]string{
		{"c.n += n", "c.n -= n"}:                "TestAdd",
		{"ToUpper(text)", "ToLower(text)"}:      "TestShout",
		{"ToUpper(text)", "ToTitle(text)"}:      "",
		{"return v", "var none T; return none"}: "TestAdd",
	} {
		m := assert.Get(Replacing(root, "p/p.go", change[0], change[1])).Must(t)
		got, err := p.Try(t.Context(), &m, "^$", all)
		assert.True(t, err == nil && got == want, "%v is caught by %q, want %q (%v)", change, got, want, err)
	}
	m := assert.Get(Replacing(root, "p/p.go", "ToUpper(text)", "ToUpper(1)")).Must(t)
	assert.Fails(t, assert.ErrorOf(p.Try(t.Context(), &m, all)), "a mistake that does not compile counts")
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		assert.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
}

func TestFailureInOneLine(t *testing.T) {
	for _, test := range []struct{ out, want string }{
		{"--- FAIL: TestTranscripts (0.1s)\n    --- FAIL: TestTranscripts/a (0s)\n    --- FAIL: TestTranscripts/b (0s)\n", "TestTranscripts/a and 1 more"},
		{"=== RUN   TestWalks\n    w.go:3: [rapid] failed after 7 tests: two instances run\n--- FAIL: TestWalks (1s)\n", "TestWalks: two instances run"},
		{"=== RUN   TestA\npanic: index out of range\n", "TestA: index out of range"},
		{"=== RUN   TestA\n", "TestA: signal: killed"},
	} {
		assert.Equal(t, test.want, failure(test.out, errors.New("signal: killed")), "got")
	}
}
