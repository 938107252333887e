package prove

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestReplacingIsUnambiguous(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"p/p.go": "package p\n\nfunc plan() { first(); first(); second() }\n"})
	m, err := Replacing(root, "p/p.go", "second()", "third()")
	assert.True(t, err == nil && m.Was == "second()" && m.Now == "third()", "got %+v, %v", m, err)
	for _, old := range []string{"absent", "first()"} {
		assert.Fails(t, assert.ErrorOf(Replacing(root, "p/p.go", old, "x")), old, " was replaced")
	}
}

// TestBatch: each mistake of a batch is made when it is chosen, and none when none is.
func TestBatch(t *testing.T) {
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
	if c.add(1, 2); c.n != 3 {
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
	p := Package{root, "p"}
	var mistakes []Mutant
	for _, change := range [][2]string{{"c.n += n", "c.n -= n"}, {"ToUpper(text)", "ToLower(text)"}, {"ToUpper(text)", "ToUpper(1)"}, {"ToUpper(text)", "ToTitle(text)"}} {
		m, err := Replacing(root, "p/p.go", change[0], change[1])
		assert.Require(t, err == nil, "%v: %v", change, err)
		mistakes = append(mistakes, m)
	}
	m := assert.Get(Replacing(root, "p/p.go", "return v", "panic(v)")).Must(t)
	assert.Fails(t, assert.ErrorOf(p.copyOf(m, 0)), "a function with type parameters can be copied")
	const architecture = 386 // as a file's last word, that would keep its mistake out of the build
	for len(mistakes) <= architecture {
		mistakes = append(mistakes, mistakes[1])
	}
	b := assert.Get(p.Build(t.Context(), mistakes)).Must(t)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	for i, want := range map[int]string{-1: "", 0: "TestAdd", 1: "TestShout", 3: "", architecture: "TestShout"} {
		got, err := b.Try(t.Context(), i, []TestRun{{Run: "."}})
		assert.True(t, err == nil && got == want, "mistake %d is caught by %q, want %q (%v)", i, got, want, err)
	}
	assert.True(t, b.Refused(2) && !b.Refused(1), "the mistake that does not compile counts, or another does not")
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
