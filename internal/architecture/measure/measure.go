// Package measure counts what shows whether code stays a house that one can live in:
// how large functions, types and packages are. It reads source files as text; nothing
// is compiled, so that any checkout can be measured.
package measure

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the code that is measured.
const Module = "github.com/lifepod/lifepod"

// Figure is a number of something, such as the fields of a struct.
type Figure struct {
	Name  string // such as lifecycle.Machine, or node/pods.go: Wanted
	Value int
}

// Figures are those of one checkout, the largest of each kind first. Tests and
// generated files don't count.
type Figures struct {
	Lines      []Figure // of packages
	Files      []Figure // lines of files
	Fields     []Figure // of structs, those of embedded structs of this module included
	Methods    []Figure // of types, those of embedded ones not
	Imports    []Figure // of packages: different packages that are imported
	Parameters []Figure // of functions
	Functions  []Figure // lines of functions
	Complexity []Figure // of functions: one, and one more for each branch (McCabe)
}

// Of measures the checkout at a folder.
func Of(folder string) (Figures, error) {
	s := survey{structs: map[string]*structure{}, lines: map[string]int{}, imports: map[string]map[string]bool{}, methods: map[string]int{}}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != folder && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_generated") {
			return nil
		}
		below, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		return s.read(file, filepath.ToSlash(below))
	})
	if err != nil {
		return Figures{}, fmt.Errorf("measure %s: %w", folder, err)
	}
	return s.figures(), nil
}

// structure is a struct type of the module.
type structure struct {
	own      int      // fields that are not embedded, and embedded ones of other modules
	embedded []string // structs or other types of this module
}

// survey is what was read so far.
type survey struct {
	Figures
	structs map[string]*structure
	lines   map[string]int
	imports map[string]map[string]bool
	methods map[string]int
}

func (s *survey) read(file, name string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	count, pkg := strings.Count(string(source), "\n"), path.Dir(name)
	s.lines[pkg] += count
	s.Files = append(s.Files, Figure{name, count})
	if s.imports[pkg] == nil {
		s.imports[pkg] = map[string]bool{}
	}
	names := map[string]string{} // of imported packages of this module, by what the file calls them
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		s.imports[pkg][imported] = true
		if below, ours := strings.CutPrefix(imported, Module+"/"); ours {
			called := path.Base(below)
			if spec.Name != nil {
				called = spec.Name.Name
			}
			names[called] = below
		}
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.function(set, pkg, name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					s.structure(pkg, t, names)
				}
			}
		}
	}
	return nil
}

func (s *survey) function(set *token.FileSet, pkg, file string, f *ast.FuncDecl) {
	name := file + ": " + f.Name.Name
	if f.Recv != nil {
		receiver := baseName(f.Recv.List[0].Type)
		s.methods[pkg+"."+receiver]++
		name = file + ": " + receiver + "." + f.Name.Name
	}
	s.Parameters = append(s.Parameters, Figure{name, f.Type.Params.NumFields()})
	s.Functions = append(s.Functions, Figure{name, set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1})
	s.Complexity = append(s.Complexity, Figure{name, complexity(f)})
}

// baseName is the name of a type behind pointers, type arguments and package names.
func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func complexity(f *ast.FuncDecl) int {
	count := 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			count++
		case *ast.CaseClause:
			if n.List != nil {
				count++
			}
		case *ast.CommClause:
			if n.Comm != nil {
				count++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				count++
			}
		}
		return true
	})
	return count
}

func (s *survey) structure(pkg string, t *ast.TypeSpec, imported map[string]string) {
	body, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	found := &structure{}
	for _, field := range body.Fields.List {
		if len(field.Names) > 0 {
			found.own += len(field.Names)
			continue
		}
		e := field.Type
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		switch e := e.(type) {
		case *ast.Ident:
			found.embedded = append(found.embedded, pkg+"."+e.Name)
		case *ast.SelectorExpr:
			if below, ours := imported[baseName(e.X)]; ours {
				found.embedded = append(found.embedded, below+"."+e.Sel.Name)
				continue
			}
			found.own++
		default:
			found.own++
		}
	}
	s.structs[pkg+"."+t.Name.Name] = found
}

// flattened is how many fields a struct has that can be named by it alone. What is
// embedded and is no struct counts as one.
func (s *survey) flattened(name string, seen []string) int {
	found := s.structs[name]
	if found == nil || slices.Contains(seen, name) {
		return 1
	}
	count := found.own
	for _, embedded := range found.embedded {
		count += s.flattened(embedded, append(seen, name))
	}
	return count
}

func (s *survey) figures() Figures {
	for pkg, lines := range s.lines {
		s.Lines = append(s.Lines, Figure{pkg, lines})
		s.Imports = append(s.Imports, Figure{pkg, len(s.imports[pkg])})
	}
	for name := range s.structs {
		s.Fields = append(s.Fields, Figure{name, s.flattened(name, nil)})
	}
	for name, methods := range s.methods {
		s.Methods = append(s.Methods, Figure{name, methods})
	}
	for _, list := range [][]Figure{s.Lines, s.Files, s.Fields, s.Methods, s.Imports, s.Parameters, s.Functions, s.Complexity} {
		slices.SortFunc(list, func(a, b Figure) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name)) })
	}
	return s.Figures
}

// Sum is the sum of the figures whose names are one of some folders or below one.
func Sum(list []Figure, folders ...string) int {
	sum := 0
	for _, f := range list {
		if slices.ContainsFunc(folders, func(folder string) bool {
			return folder == "." || f.Name == folder || strings.HasPrefix(f.Name, folder+"/")
		}) {
			sum += f.Value
		}
	}
	return sum
}

// Above are the figures that are greater than a limit.
func Above(list []Figure, limit int) []Figure {
	return slices.DeleteFunc(slices.Clone(list), func(f Figure) bool { return f.Value <= limit })
}
