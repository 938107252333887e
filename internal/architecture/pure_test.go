package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// pure are the packages that decide, and what each may import: the API types and nothing
// that acts (no I/O, clock, lock, context, log, dice).
var pure = map[string][]string{
	"lifecycle": {
		"cmp", "encoding/json", "errors", "fmt", "maps", "slices", "strconv", "strings", "time",
		"net/netip",                         // addresses as values
		"github.com/distribution/reference", // image names
		"k8s.io/api/core/v1",
		"k8s.io/apimachinery/pkg/api/equality",
		"k8s.io/apimachinery/pkg/api/resource",
		"k8s.io/apimachinery/pkg/apis/meta/v1",
		"k8s.io/component-helpers/resource", // sums of containers
		"k8s.io/utils/ptr",                  // values behind pointers
		module + "/lifecycle/group",
	},
	"lifecycle/group": {"fmt", "maps", "slices", "strings", "time"},
	"roster": {
		"cmp", "fmt", "maps", "slices", "strconv", "time",
		"k8s.io/api/core/v1",
		"k8s.io/apimachinery/pkg/api/equality",
		"k8s.io/apimachinery/pkg/apis/meta/v1",
		"k8s.io/apimachinery/pkg/types",
		module + "/lifecycle",
		module + "/roster/admit",
		module + "/roster/pressure",
	},
}

// TestNothingThatActs keeps these packages pure: what each may import is listed, and what
// would make two runs of the same events differ is forbidden.
func TestNothingThatActs(t *testing.T) {
	for pkg, allowed := range pure {
		for name, file := range sources(t, pkg) {
			for _, spec := range file.Imports {
				path := assert.Get(strconv.Unquote(spec.Path.Value)).Must(t)
				assert.True(t, slices.Contains(allowed, path), "%s imports %q: %s decides, and imports the API types and nothing that acts", name, path, pkg)
			}
			for _, offence := range impure(file) {
				t.Errorf("%s: %s", name, offence)
			}
		}
	}
}

// TestNothingOutside: what the machines decide with, tables and sums of upstream's helpers included, is pure as well.
func TestNothingOutside(t *testing.T) {
	acts := []string{"os", "io", "net", "syscall", "context", "sync", "log", "math/rand", "golang.org/x/sys", "google.golang.org/grpc", "k8s.io/client-go", "k8s.io/cri-api"}
	for _, pkg := range []string{"roster/admit", "roster/numa", "roster/pressure"} {
		for name, file := range sources(t, pkg) {
			for _, spec := range file.Imports {
				path := assert.Get(strconv.Unquote(spec.Path.Value)).Must(t)
				assert.True(t, (path == "net/netip" || !anyOf(path, acts...)) && (!below(path, module) || anyOf(path, module+"/lifecycle", module+"/roster")),
					"%s imports %q: %s decides, and imports nothing that acts", name, path, pkg)
			}
			for _, offence := range impure(file) {
				assert.True(t, strings.HasPrefix(offence, "a package variable") || strings.HasPrefix(offence, "a float"), "%s: %s", name, offence)
			}
		}
	}
}

func TestImpureIsFound(t *testing.T) {
	const source = `package p
import "time"
var global int
func f(c chan int) { go f(c); time.Sleep(1); _ = time.Now(); select {}; var x float64; _ = x }`
	file := assert.Get(parser.ParseFile(token.NewFileSet(), "p.go", source, 0)).Must(t)
	got := impure(file)
	assert.True(t, len(got) == 7, "found %d offences, want 7:\n%s", len(got), strings.Join(got, "\n"))
}

// sources are a package's files but for its tests.
func sources(t *testing.T, pkg string) map[string]*ast.File {
	folder := filepath.Join("../..", pkg)
	entries := assert.Get(os.ReadDir(folder)).Must(t)
	files := map[string]*ast.File{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		path := filepath.Join(folder, e.Name())
		files[path] = assert.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0)).Must(t)
	}
	assert.Require(t, len(files) != 0, "package %s has no files", pkg)
	return files
}

// impure says what in a file would tie a decision to anything but its input.
func impure(file *ast.File) []string {
	var offences []string
	add := func(what string) { offences = append(offences, what) }
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			add("a package variable: state belongs to the Machine")
		}
	}
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add("a goroutine: the caller decides what runs beside what")
		case *ast.ChanType, *ast.SelectStmt:
			add("a channel: facts come in by Step alone")
		case *ast.Ident:
			if n.Name == "float64" || n.Name == "float32" {
				add("a float: decisions are made in whole units")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
				add("time." + n.Sel.Name + ": the time is that of the event")
			}
		}
		return true
	})
	return offences
}
