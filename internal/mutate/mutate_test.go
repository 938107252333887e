package mutate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `package p

func plan(n int) {
	if n > 3 && ready() {
		first()
		second() // comes last
	}
	switch n {
	case 0:
		count++
	}
}

func ready() bool { return true }
`

func written(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, map[string]string{"p/p.go": source, "p/p_test.go": "package p\n\nfunc helper() { first() }\n"})
	return root
}

func TestMistakesOfAFile(t *testing.T) {
	mutants, err := Of(written(t), "p")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		got = append(got, m.Operator+": "+m.Change())
		mutated := string(m.Apply([]byte(source)))
		if mutated == source || strings.Count(mutated, "\n") < strings.Count(source, "\n") {
			t.Errorf("%s gives\n%s", m.Change(), mutated)
		}
	}
	want := []string{
		"early return: + return;",
		"condition negated: n > 3 && ready() → !(n > 3 && ready())",
		"&& and || exchanged: && → ||",
		"comparison changed: > → >=",
		"constant changed: 3 → 0",
		"call skipped: − first()",
		"order swapped: first() second() → second() first()",
		"call skipped: − second()",
		"constant changed: 0 → 1",
		"assignment dropped: − count++",
		"case emptied: − count++",
		"early return: + return false;",
		"early return: + return true;",
		"constant changed: true → false",
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

func TestSameSeedSameOrder(t *testing.T) {
	mutants, err := Of(written(t), "p")
	if err != nil {
		t.Fatal(err)
	}
	order := func(seed uint64) (changes []string) {
		for _, m := range Shuffle(mutants, seed) {
			changes = append(changes, m.Change())
		}
		return changes
	}
	if diff := cmp.Diff(order(1), order(1)); diff != "" {
		t.Errorf("two orders of one seed:\n%s", diff)
	}
	if slices.Equal(order(1), order(2)) {
		t.Error("two seeds give the same order")
	}
	if len(order(1)) != len(mutants) {
		t.Errorf("%d of %d mutants are left", len(order(1)), len(mutants))
	}
}

// TestOrderOutlivesChanges: the order of the mistakes of one kind does not depend on other mistakes, or on the lines before them.
func TestOrderOutlivesChanges(t *testing.T) {
	mutants, err := Of(written(t), "p")
	if err != nil {
		t.Fatal(err)
	}
	order := func(list []Mutant) map[string][]string {
		kinds := map[string][]string{}
		for _, m := range Shuffle(list, 1) {
			kinds[m.Operator] = append(kinds[m.Operator], m.Change())
		}
		return kinds
	}
	want := order(mutants)
	for i := range mutants {
		gone := mutants[i]
		less := slices.Delete(slices.Clone(mutants), i, i+1)
		for j := range less {
			less[j].Line, less[j].offset = less[j].Line+10, less[j].offset+100
		}
		got := order(less)
		for kind, all := range want {
			if kind == gone.Operator {
				at := slices.Index(all, gone.Change())
				all = slices.Delete(slices.Clone(all), at, at+1)
			}
			if !slices.Equal(all, got[kind]) {
				t.Errorf("%s, without %q: %q, want %q", kind, gone.Change(), got[kind], all)
			}
		}
	}
}

func TestReplacingIsUnambiguous(t *testing.T) {
	root := written(t)
	m, err := Replacing(root, "p/p.go", "second()", "third()")
	if err != nil || m.Line != 6 || !strings.Contains(string(m.Apply([]byte(source))), "third() // comes last") {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, old := range []string{"absent", "ready()"} {
		if _, err := Replacing(root, "p/p.go", old, "x"); err == nil {
			t.Errorf("%q was replaced", old)
		}
	}
}

func TestTry(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod":      "module p\n\ngo 1.26\n",
		"p/p.go":      "package p\n\nfunc yes() bool { return true }\n\nfunc unused() bool { return true }\n\nfunc loops() bool { return false }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestYes(t *testing.T) {\n\tfor loops() {\n\t}\n\tif !yes() {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
	})
	for _, test := range []struct {
		old, now string
		caught   string
		refused  bool
	}{
		{old: "yes() bool { return true", now: "yes() bool { return false", caught: "TestYes"},
		{old: "unused() bool { return true", now: "unused() bool { return false"},
		{old: "unused() bool { return true", now: "unused() bool { return 1", refused: true},
	} {
		m, err := Replacing(root, "p/p.go", test.old, test.now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Package{root, "p"}.Try(t.Context(), []Mutant{m}, []Round{{Run: "."}})
		if err != nil || got.CaughtBy != test.caught || got.Uncompiled != test.refused {
			t.Errorf("%s: got %+v, %v", m.Change(), got, err)
		}
		if (Package{root, "p"}).Batchable(m) {
			t.Errorf("%s is not in one function's body, and counts as if", m.Change())
		}
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
		if err != nil || !p.Batchable(m) {
			t.Fatalf("%v: batchable: %t, %v", change, p.Batchable(m), err)
		}
		mistakes = append(mistakes, m)
	}
	if m, err := Replacing(root, "p/p.go", "return v", "panic(v)"); err != nil || p.Batchable(m) {
		t.Errorf("a function with type parameters can be copied: %v", err)
	}
	const architecture = 386 // as a file's last word, that would keep its mistake out of the build
	for len(mistakes) <= architecture {
		mistakes = append(mistakes, mistakes[1])
	}
	b, err := p.Build(t.Context(), mistakes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, want := range map[int]string{-1: "", 0: "TestAdd", 1: "TestShout", 3: "", architecture: "TestShout"} {
		if got, err := b.Try(t.Context(), i, []Round{{Run: "."}}); err != nil || got != want {
			t.Errorf("mistake %d is caught by %q, want %q (%v)", i, got, want, err)
		}
	}
	if !b.Refused(2) || b.Refused(1) {
		t.Error("the mistake that does not compile counts, or another does not")
	}
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFailureInOneLine(t *testing.T) {
	for _, test := range []struct{ out, want string }{
		{"--- FAIL: TestTranscripts (0.1s)\n    --- FAIL: TestTranscripts/a (0s)\n    --- FAIL: TestTranscripts/b (0s)\n", "TestTranscripts/a and 1 more"},
		{"=== RUN   TestWalks\n    w.go:3: [rapid] failed after 7 tests: two instances run\n--- FAIL: TestWalks (1s)\n", "TestWalks: two instances run"},
		{"=== RUN   TestA\npanic: index out of range\n", "TestA: index out of range"},
		{"=== RUN   TestA\n", "TestA: signal: killed"},
	} {
		if got := failure(test.out, errors.New("signal: killed")); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// TestExcusesAreOfMistakes: each mistake that the project excuses can still be made; else make mutations fails before it begins. And
// an excuse is of one line, so that it excuses nobody else.
func TestExcusesAreOfMistakes(t *testing.T) {
	all, err := Of("../..", "lifecycle", "roster")
	if err != nil {
		t.Fatal(err)
	}
	excuses, err := ReadExcuses("../../hack/mutate/equivalent.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if stale := excuses.Stale(all); len(stale) > 0 {
		t.Errorf("hack/mutate/equivalent.tsv lists mistakes that can't be made: %q", stale)
	}
	lines := map[string]int{}
	for _, m := range all {
		key := excuses.key(m)
		if excuses[key] == "" {
			continue
		}
		if line, is := lines[key]; is && line != m.Line {
			t.Errorf("%s: lines %d and %d have the same excuse", key, line, m.Line)
		}
		lines[key] = m.Line
	}
}
