package sentence

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// spoken are the files whose sentences people read in their language: every text in them that looks like words is one.
var spoken = []string{
	"lifecycle/words.go", "lifecycle/group/words.go", "run/story/*.go", "run/countdown.go", "run/gate.go", "run/jobrun.go", "run/keys.go", "run/look.go", "run/panel.go", "run/print.go",
	"run/pulls.go", "run/screen.go", "timeline/*.go", "timeline/draw/*.go", "cmd/lifepod/explain.go", "ui/gone.go", "unattended/pod.go", "why/*.go", "worker/images/progress.go",
}

// unspoken are texts in them that look like words and are none, or are English in every language.
var unspoken = []string{
	"default-src 'none'; style-src ", "; script-src ", "; base-uri 'none'; form-action 'none'", "startup ", "readiness ", "liveness ",
	"image of ", "image of volume ", " probe of ", " of ", "image ", "work ", "%s  (%s, docs/contract/%s)\n\n%s", "+%.3fs ", "+%.3fs %s\n", ", Ready", ", not Ready", "Error creating: ", "event %s %s %s: %s", "pod ", "restartPolicy ",
	"lifepod run", "lifepod agent", "lifepod up", "lifepod join", " · lifepod", "card warning", "input, select, dialog", " on-path", " open", "search ", "Pod ", "lifepod run examples/hello.yaml",
}

var (
	wordy  = regexp.MustCompile(`[A-Za-z]{2} |[ (][A-Za-z]{2}`)
	hyphen = regexp.MustCompile(`^[a-zA-Z]+(-[a-zA-Z]+)+$`)
	verb   = regexp.MustCompile(`%(?:\[(\d)\])?([.0-9]*[a-z])|\{[a-z]+\}`)
)

// TestEverySentenceIsChinese: what people read is in the catalogue, with the same places, and the catalogue has nothing else.
func TestEverySentenceIsChinese(t *testing.T) {
	catalogue := map[string]string{}
	assert.Must(t, json.Unmarshal(chinese, &catalogue))
	warnings := map[string]string{}
	found := kinds(t, reasons(t, warnings))
	maps.Copy(found, warnings)
	for _, pattern := range spoken {
		files, err := filepath.Glob("../../" + pattern)
		assert.Require(t, err == nil && files != nil, "%s: %v", pattern, err)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/choose") { // whose errors are English
				sentences(t, file, found)
			}
		}
	}
	templates(t, found)
	page(t, found)
	index := assert.Get(os.ReadFile("../../docs/contract/README.md")).Must(t)
	for _, m := range regexp.MustCompile(`(?m)^(?:## (.*[Tt]o run.*|Termination.*)|\| \[([^\]]+)\]\([a-z]+/.*)$`).FindAllStringSubmatch(string(index), -1) {
		found[m[1]+m[2]] = "what lifepod explain lists"
	}
	for _, kind := range []string{"init", "ephemeral"} {
		found[kind] = "the kinds of containers, which charts show"
	}
	for english, where := range found {
		text, has := catalogue[english]
		if !has {
			t.Errorf("%s: zh.json has nothing for %q", where, english)
		} else if want, got := places(english), places(text); fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s: %q has other places than %q: %v, want %v", where, text, english, got, want)
		}
	}
	for english := range catalogue {
		assert.True(t, found[english] != "", "zh.json has %q, which nothing says", english)
	}
}

// places are what stands in a sentence's places, in the order of the arguments.
func places(text string) map[string]string {
	list, next := map[string]string{}, 1
	for _, m := range verb.FindAllStringSubmatch(strings.ReplaceAll(text, "%%", ""), -1) {
		if m[2] == "" {
			list[m[0]] = m[0]
			continue
		}
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1])
		}
		list[strconv.Itoa(next)] = m[2]
		next++
	}
	return list
}

// sentences adds those of a file, with where each is.
func sentences(t *testing.T, name string, to map[string]string) {
	files := token.NewFileSet()
	file := assert.Get(parser.ParseFile(files, name, nil, 0)).Must(t)
	add := func(e ast.Expr, before string, any bool) {
		if l, is := e.(*ast.BasicLit); is && l.Kind == token.STRING {
			if text, _ := strconv.Unquote(l.Value); any || wordy.MatchString(text) && !slices.Contains(unspoken, text) {
				to[before+text] = files.Position(l.Pos()).String()
			}
		}
	}
	alone := func(parts ...ast.Expr) {
		for _, e := range parts {
			if l, is := e.(*ast.BasicLit); is && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value)
				assert.True(t, !wordy.MatchString(text) || slices.Contains(unspoken, text), "%s: %q is put together in English", files.Position(l.Pos()), text)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.CallExpr:
			switch callee(n) {
			case ".Errorf", ".New", "panic", ".warn", ".fail", ".Command", ".Println", ".MustCompile": // reasons finds what run warns of
				return false
			case ".Say", "say", ".Word", ".ifSome":
				add(n.Args[0], "", true)
			case ".Sprintf":
				alone(n.Args[0])
			case ".Count":
				if len(n.Args) == 2 {
					add(n.Args[1], "%d ", true)
				}
			}
		case *ast.KeyValueExpr:
			key, _ := n.Key.(*ast.Ident)
			switch {
			case key != nil && slices.Contains([]string{"Use", "Short", "Long"}, key.Name): // help is English
				return false
			case key != nil && key.Name == "word":
				add(n.Value, "", true)
			}
		case *ast.CompositeLit:
			if of, is := n.Type.(*ast.Ident); is && of.Name == "unit" {
				add(n.Elts[1], "", true)
			}
		case *ast.ValueSpec:
			if of, is := n.Type.(*ast.Ident); is && (of.Name == "Step" || of.Name == "RowKind") {
				add(n.Values[0], "", true)
			}
			if n.Names[0].Name == "sentences" { // of package lifecycle: kinds has them
				return false
			}
		case *ast.BinaryExpr:
			alone(n.X, n.Y)
		case ast.Expr:
			add(n, "", false)
		}
		return true
	})
}

func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return "." + f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// foreign are texts of reasons that are the same in every language: commands, flags, kinds of objects.
var foreign = regexp.MustCompile(`^(lifepod |--)|^[A-Z]\w+ $`)

// reasons are the kinds that those who ask for something give as their reason, and what run warns of. It finds reasons that are
// words instead; a program in package sim or bench asks in English.
func reasons(t *testing.T, warnings map[string]string) (found map[string]string) {
	found = map[string]string{}
	assert.Must(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".cache", ".git", "bench", "e2e", "sim", "testdata"}, entry.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		warns := warnings
		if !strings.HasPrefix(path, "../../run/") {
			warns = map[string]string{}
		}
		for _, text := range reasonsOf(file, path, found, warns) {
			t.Errorf("%s: the reason %q is in English only: give it a kind", path, text)
		}
		return nil
	}))
	return found
}

func TestReasonsInEnglishAreFound(t *testing.T) {
	const source = `package p
var _ = lifecycle.Because{Kind: "a-kind", Text: "because " + name}
var _ = []Wait{{For: WaitGroup}, Wait{Because: fmt.Sprintf("attempt %d begins", n)}}
var _ = StopRequested{Because: lifecycle.Because{Text: "--timeout " + after}}
func f() {
	wait.Because, wait.Rule = "it is so", "A-RST-1"
	p.warn("%s: careful", name)
	log(Words{Because: "this is a log's"})
}`
	file := assert.Get(parser.ParseFile(token.NewFileSet(), "p.go", source, 0)).Must(t)
	kinds, warnings := map[string]string{}, map[string]string{}
	assert.Deep(t, "English", []string{"because ", "attempt %d begins", "it is so"}, reasonsOf(file, "p.go", kinds, warnings))
	assert.Deep(t, "kinds", map[string]string{"a-kind": "p.go"}, kinds)
	assert.Deep(t, "warnings", map[string]string{"%s: careful": "p.go"}, warnings)
}

// reasonsOf adds the kinds and the warnings of a file, and returns the words of its other reasons.
func reasonsOf(file *ast.File, path string, kinds, warnings map[string]string) (english []string) {
	each := func(e ast.Expr, do func(text string)) {
		ast.Inspect(e, func(n ast.Node) bool {
			if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value)
				do(text)
			}
			return true
		})
	}
	words := func(text string) {
		if wordy.MatchString(text) && !foreign.MatchString(text) {
			english = append(english, text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := callee(n); name == ".warn" || name == "warn" {
				each(n.Args[0], func(text string) {
					if wordy.MatchString(text) {
						warnings[text] = path
					}
				})
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if s, is := to.(*ast.SelectorExpr); is && s.Sel.Name == "Because" && len(n.Rhs) == len(n.Lhs) {
					if _, is := n.Rhs[i].(*ast.CompositeLit); !is { // which has fields
						each(n.Rhs[i], words)
					}
				}
			}
		case *ast.CompositeLit:
			of := typeName(n.Type)
			for _, e := range n.Elts {
				pair, _ := e.(*ast.KeyValueExpr)
				if pair == nil {
					continue
				}
				switch of + "." + typeName(pair.Key) {
				case "Because.Kind":
					each(pair.Value, func(text string) { kinds[text] = path })
				case "Because.Text", "Wait.Because":
					each(pair.Value, words)
				}
			}
		}
		return true
	})
	return english
}

// typeName is a name without its package; empty: it has none.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// templates adds what the page of a timeline says, and finds what it says in one language only.
func templates(t *testing.T, to map[string]string) {
	const name = "../../timeline/draw/page.tmpl"
	text := assert.Get(os.ReadFile(name)).Must(t)
	for _, m := range regexp.MustCompile(`Language.(?:Word|Say) "([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		to[m[1]] = name
	}
	bare := regexp.MustCompile(`{{.*?}}`).ReplaceAllString(string(text), "")
	for _, m := range regexp.MustCompile(`(?:>|label="|title=")[^<>"]*[A-Za-z]{2}[^<>"]*`).FindAllString(bare, -1) {
		t.Errorf("%s says %q in English only", name, m)
	}
}

// page adds what the page says, and finds what it says in English only.
func page(t *testing.T, to map[string]string) {
	files, err := filepath.Glob("../../ui/assets/*.js")
	assert.Require(t, err == nil && files != nil, "%v", err)
	for _, name := range append(files, "../../ui/assets/index.html") {
		text := assert.Get(os.ReadFile(name)).Must(t)
		for _, m := range regexp.MustCompile(` data-say>([^<]+)<`).FindAllStringSubmatch(string(text), -1) {
			to[m[1]] = name
		}
		said := regexp.MustCompile(`\bsay\(("(?:[^"\\]|\\.)*")`)
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			english := assert.Get(strconv.Unquote(m[1])).Must(t)
			to[english] = name
		}
		code := regexp.MustCompile(`class: "[^"]*"|(?m)//.*$`).ReplaceAllString(said.ReplaceAllString(string(text), ""), "")
		for _, m := range regexp.MustCompile(`"[^"\n]*"`).FindAllString(code, -1) {
			assert.True(t, strings.HasSuffix(name, ".html") || !wordy.MatchString(m) || slices.Contains(unspoken, strings.Trim(m, `"`)), "%s says %s in English only", name, m)
		}
	}
}

// kinds are what kinds, outcomes and reasons of package lifecycle say, and those found elsewhere.
func kinds(t *testing.T, found map[string]string) map[string]string {
	said := map[string]string{}
	files := assert.Get(filepath.Glob("../../lifecycle/*.go")).Must(t)
	for _, name := range append(files, "../../lifecycle/group/group.go") {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "/tuning.go") { // which has names of annotations
			continue
		}
		file := assert.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0)).Must(t)
		add := func(e ast.Expr) {
			if l, is := e.(*ast.BasicLit); is && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value)
				found[text] = name
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				of, _ := n.Type.(*ast.Ident)
				switch {
				case n.Names[0].Name == "sentences":
					text, _ := strconv.Unquote(n.Values[0].(*ast.BasicLit).Value)
					for line := range strings.Lines(strings.TrimSpace(text)) {
						kind, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
						said[kind], found[kind] = text, name
					}
				case of != nil && of.Name == "WaitFor":
					return false
				case of != nil && slices.Contains([]string{"Kind", "Outcome", "Killing", "BecauseKind", "Reason"}, of.Name):
					add(n.Values[0])
				}
			case *ast.KeyValueExpr:
				if key, is := n.Key.(*ast.Ident); is && (key.Name == "Kind" || key.Name == "Outcome") {
					add(n.Value)
				}
			case ast.Expr:
				if l, is := n.(*ast.BasicLit); is && hyphen.MatchString(strings.Trim(l.Value, `"`)) {
					add(n)
				}
			}
			return true
		})
	}
	list := map[string]string{}
	for kind, where := range found {
		text := said[kind]
		if text == "" {
			text = strings.ReplaceAll(kind, "-", " ")
		}
		list[text] = where
	}
	return list
}
