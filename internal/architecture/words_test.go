package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestWordsAreForPeople: what a report, an entry of the journal or a wait says in words is made to be read by people. A program
// that took it apart would break with the next sentence that is improved, and in every other language: it reads kinds and
// fields (lifecycle.Report). Names are for people who know Kubernetes.
func TestWordsAreForPeople(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".cache", ".git", "assets", "testdata"}, entry.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		files++
		for _, name := range obscure(file) {
			t.Errorf("%s: the name %s says nothing to who knows Kubernetes", path, name)
		}
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, offence := range readWords(file) {
			t.Errorf("%s reads the words of %s: give what it needs a kind or a field", path, offence)
		}
		return nil
	})
	assert.Require(t, err == nil && files >= 500, "%d files, %v", files, err)
}

var (
	camel       = regexp.MustCompile(`[A-Z]*[a-z0-9]*`)
	obscureWord = regexp.MustCompile(`(?i)^(told|untold|calm|stretch|chronicle|keepers?|company|strangers?|shelf|byname|telling|teller|relief|fates?|turns|rounds)$`)
)

// obscure are names with words of our own that have plain ones (CONTRIBUTING, Words): told is reported, sent or logged; a round
// is a restart of all containers, an attempt of a group, or a test run.
func obscure(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && slices.ContainsFunc(camel.FindAllString(id.Name, -1), obscureWord.MatchString) {
			found = append(found, id.Name)
		}
		return true
	})
	return found
}

func TestReadWordsAreFound(t *testing.T) {
	const source = `package p
func f() {
	_ = r.What == "exited 1" || e.Because != "" || "ends" != r.What
	strings.HasSuffix(e.decided.Because, ", killed at once")
	strings.Cut(bare(w.Because), ": ")
	switch r.Outcome { case "": case "restart now": }
	strings.Join([]string{e.What}, ": ")
	add(strings.ToUpper("x") + r.What)
}`
	file := assert.Get(parser.ParseFile(token.NewFileSet(), "p.go", source, 0)).Must(t)
	got := readWords(file)
	assert.True(t, len(got) == 5, "found %q, want 5", got)
}

// readWords are the words that a file takes apart, or compares with others.
func readWords(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (saysMore(n.X) || saysMore(n.Y)) {
				found = append(found, wordsIn(n.X, n.Y)...)
			}
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				if n.Tag != nil && slices.ContainsFunc(c.(*ast.CaseClause).List, saysMore) {
					found = append(found, wordsIn(n.Tag)...)
				}
			}
		case *ast.CallExpr:
			if f, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains([]string{
				"Contains", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "Fields", "HasPrefix", "HasSuffix", "Index", "LastIndex",
				"Split", "SplitN", "TrimPrefix", "TrimSuffix", "FindStringSubmatch", "MatchString",
			}, f.Sel.Name) {
				found = append(found, wordsIn(n.Args...)...)
			}
		}
		return true
	})
	return found
}

// saysMore is a text that is not empty.
func saysMore(e ast.Expr) bool {
	text, is := e.(*ast.BasicLit)
	return is && text.Kind == token.STRING && len(text.Value) > len(`""`)
}

// wordsIn are fields that have words.
func wordsIn(list ...ast.Expr) (found []string) {
	for _, e := range list {
		ast.Inspect(e, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && slices.Contains([]string{"What", "Outcome", "Because"}, s.Sel.Name) {
				found = append(found, s.Sel.Name)
			}
			return true
		})
	}
	return found
}
