package main

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// declaration is a function, type, variable or constant of a package.
type declaration struct {
	file string // the name of its file
	name string // without the receiver
	node ast.Node
	text string // as gofmt prints it, without comments
}

// declarations are those of a package by name, with methods as Type.Method.
type declarations map[string]declaration

// linux is which files count: the others are of systems that lifepod does not run on.
var linux = func() build.Context {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", true
	return context
}()

// skipped are tests and what is made for them, what is generated, and what is not Go.
var skipped = regexp.MustCompile(`^fake_|_fake|_(test|generated)\.go$|[^o]$`)

// load reads a package without its tests, or only some of its files. One that there is not has no declarations.
func load(folder string, only []string) (declarations, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	found := declarations{}
	for _, entry := range entries {
		name := entry.Name()
		if only == nil && skipped.MatchString(name) || only != nil && !slices.Contains(only, name) {
			continue
		}
		if match, err := linux.MatchFile(folder, name); err != nil || !match {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if err := found.add(name, data); err != nil {
			return nil, err
		}
	}
	return found, nil
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func (d declarations) add(file string, data []byte) error {
	if generated.Match(data) {
		return nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, data, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	add := func(name, key, prefix string, node ast.Node) {
		if name == "_" {
			key = file // upstream's tests are all declared so; elsewhere it is an assertion of types
		}
		withoutLogs(node)
		var text bytes.Buffer
		_ = printer.Fprint(&text, fset, node) // a buffer takes everything
		// What was a comment is an empty line now.
		lines := slices.DeleteFunc(strings.Split(prefix+text.String(), "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
		whole := d[key].text + strings.Join(lines, "\n") + "\n" // there may be several functions init
		d[key] = declaration{file: file, name: name, node: node, text: whole}
	}
	for _, decl := range tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			add(decl.Name.Name, receiver(decl)+decl.Name.Name, "", decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name.Name, spec.Name.Name, "type ", spec)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name.Name, name.Name, decl.Tok.String()+" ", spec)
					}
				}
			}
		}
	}
	return nil
}

// receiver is "Type." for a method of that type.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && of == "" {
			of = id.Name + "."
		}
		return true
	})
	return of
}

// Loggers and contexts as they are handed on, what they are, and what is called on loggers.
var (
	handedOn = regexp.MustCompile(`^(ctx|context\.(Background|TODO)\(\)|(\w+\.)?(klog|logger)\b(?s:.*))$`)
	ofThem   = regexp.MustCompile(`^(context\.Context|(klog|logr)\.Logger)$`)
)

// withoutLogs removes what only logs, and the loggers and contexts that are handed on: no rule is about them, and every
// version of Kubernetes rewrites many.
func withoutLogs(node ast.Node) {
	is := func(e ast.Expr) bool { return handedOn.MatchString(text(e)) }
	logs := func(s ast.Stmt) bool {
		switch s := s.(type) {
		case *ast.ExprStmt:
			return is(s.X)
		case *ast.AssignStmt:
			return len(s.Lhs) == 1 && is(s.Lhs[0]) && is(s.Rhs[0])
		}
		return false
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			n.List = slices.DeleteFunc(n.List, logs)
		case *ast.CaseClause:
			n.Body = slices.DeleteFunc(n.Body, logs)
		case *ast.CommClause:
			n.Body = slices.DeleteFunc(n.Body, logs)
		case *ast.CallExpr:
			n.Args = slices.DeleteFunc(n.Args, is)
		case *ast.FuncType:
			n.Params.List = slices.DeleteFunc(n.Params.List, func(f *ast.Field) bool { return ofThem.MatchString(text(f.Type)) })
		}
		return true
	})
}

var (
	space  = regexp.MustCompile(`\s+`)
	opened = regexp.MustCompile(`([({\[]) `)
	closed = regexp.MustCompile(`,? ([)}\]])`)
)

// same says that two texts are alike but for where their lines break.
func same(a, b string) bool {
	plain := func(s string) string {
		return closed.ReplaceAllString(opened.ReplaceAllString(space.ReplaceAllString(s, " "), "$1"), "$1")
	}
	return plain(a) == plain(b)
}
