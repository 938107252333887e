package sentence

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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
	"lifecycle/words.go", "run/story/*.go", "run/countdown.go", "run/jobrun.go", "run/keys.go", "run/look.go", "run/panel.go", "run/print.go",
	"run/pulls.go", "run/screen.go", "timeline/*.go", "timeline/draw/*.go", "cmd/lifepod/explain.go", "ui/gone.go", "why/*.go", "worker/images/progress.go",
}

// unspoken are texts in them that look like words and are none, or are English in every language.
var unspoken = []string{
	"default-src 'none'; style-src ", "; script-src ", "; base-uri 'none'; form-action 'none'", "startup ", "readiness ", "liveness ",
	"image of ", "image of volume ", " probe of ", " of ", "image ", "work ", "%s  (%s, docs/contract/%s)\n\n%s", "%s %d of %d", "+%.3fs ", "+%.3fs %s\n", ", Ready", ", not Ready", "Error creating: ", "event %s %s %s: %s", "pod ", "restartPolicy ",
	"lifepod run", " has failed: ", " · lifepod", "card warning", "input, select, dialog", " on-path", " open", "search ", "Pod ", "lifepod run examples/hello.yaml", "warning: standard output was not read to its end",
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
	found := kinds(t)
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
	index, err := os.ReadFile("../../docs/contract/README.md")
	assert.Must(t, err)
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
	file, err := parser.ParseFile(files, name, nil, 0)
	assert.Must(t, err)
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
			case ".Errorf", ".New", "panic", ".warn", ".fail", ".Println", ".MustCompile":
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

// templates adds what the page of a timeline says, and finds what it says in one language only.
func templates(t *testing.T, to map[string]string) {
	const name = "../../timeline/draw/page.tmpl"
	text, err := os.ReadFile(name)
	assert.Must(t, err)
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
		text, err := os.ReadFile(name)
		assert.Must(t, err)
		for _, m := range regexp.MustCompile(` data-say>([^<]+)<`).FindAllStringSubmatch(string(text), -1) {
			to[m[1]] = name
		}
		said := regexp.MustCompile(`\bsay\(("(?:[^"\\]|\\.)*")`)
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			english, err := strconv.Unquote(m[1])
			assert.Must(t, err)
			to[english] = name
		}
		code := regexp.MustCompile(`class: "[^"]*"|(?m)//.*$`).ReplaceAllString(said.ReplaceAllString(string(text), ""), "")
		for _, m := range regexp.MustCompile(`"[^"\n]*"`).FindAllString(code, -1) {
			assert.True(t, strings.HasSuffix(name, ".html") || !wordy.MatchString(m) || slices.Contains(unspoken, strings.Trim(m, `"`)), "%s says %s in English only", name, m)
		}
	}
}

// kinds are what kinds, outcomes and reasons of package lifecycle say.
func kinds(t *testing.T) map[string]string {
	said, found := map[string]string{}, map[string]string{}
	files, err := filepath.Glob("../../lifecycle/*.go")
	assert.Must(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "/tuning.go") { // which has names of annotations
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		assert.Must(t, err)
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
				case of != nil && slices.Contains([]string{"Kind", "Outcome", "Killing", "BecauseKind"}, of.Name):
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
