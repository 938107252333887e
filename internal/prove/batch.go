package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Batch is one build of a package's tests with many mistakes in it, of which an
// environment variable chooses one. A mistake is made in a copy of its function, to which
// the function jumps if that mistake is chosen. To compile takes longer than to run the
// tests, so this is many times faster than a build for each.
type Batch struct {
	of      Package
	work    string // has the binary
	refused map[int]bool
}

// variable chooses the mistake, by its index in the batch.
const variable = "LIFEPOD_MUTANT"

// Build compiles the mistakes; those that the compiler refuses are left out. Close removes
// what it has made.
func (p Package) Build(ctx context.Context, mistakes []Mutant) (built *Batch, err error) {
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	b := &Batch{of: p, work: work, refused: map[int]bool{}}
	defer func() {
		if err != nil {
			built, err = nil, errors.Join(err, b.Close())
		}
	}()
	for {
		overlay, err := p.writeCopies(work, mistakes, b.refused)
		if err != nil {
			return b, err
		}
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-ldflags", "-s -w", "-o", b.binary(), "./"+p.Folder)
		build.Dir = p.Root
		out, err := build.CombinedOutput()
		if err == nil {
			return b, nil
		}
		before := len(b.refused)
		for _, match := range copyName.FindAllSubmatch(out, -1) {
			if i, err := strconv.Atoi(string(match[1])); err == nil {
				b.refused[i] = true
			}
		}
		if len(b.refused) == before {
			return b, fmt.Errorf("%s: %w\n%s", build, err, out)
		}
	}
}

func (b *Batch) binary() string { return filepath.Join(b.work, "package.test") }

// Close removes the build.
func (b *Batch) Close() error { return os.RemoveAll(b.work) }

// Try runs the tests with the mistake of that index until one run fails; -1 is none of them.
func (b *Batch) Try(ctx context.Context, i int, runs []TestRun) (caughtBy string, err error) {
	for _, r := range runs {
		caughtBy, err = r.run(ctx, b.binary(), filepath.Join(b.of.Root, b.of.Folder), i)
		if err != nil || caughtBy != "" {
			break
		}
	}
	return caughtBy, err
}

// Refused says whether the compiler has refused the mistake of that index.
func (b *Batch) Refused(i int) bool { return b.refused[i] }

var copyName = regexp.MustCompile(`zz_(\d+)_mutant\.go`)

// writeCopies writes the files of a batch, and the overlay that has the go command see
// them in the package's folder.
func (p Package) writeCopies(work string, mistakes []Mutant, refused map[int]bool) (string, error) {
	replace := map[string]string{}
	add := func(name, text string) error {
		target, err := filepath.Abs(filepath.Join(p.Root, name))
		if err != nil {
			return err
		}
		replace[target] = filepath.Join(work, filepath.Base(name))
		return os.WriteFile(replace[target], []byte(text), 0o600)
	}
	jumps := map[string]map[int]string{} // by file and offset of the function's first statement
	for i, m := range mistakes {
		if refused[i] {
			continue
		}
		c, err := p.copyOf(m, i)
		if err != nil {
			return "", err
		}
		// The number is not the name's end: Go compiles x_386.go for that architecture only.
		if err := add(filepath.Join(p.Folder, fmt.Sprintf("zz_%d_mutant.go", i)), c.text); err != nil {
			return "", err
		}
		if jumps[m.File] == nil {
			jumps[m.File] = map[int]string{}
		}
		jumps[m.File][c.body] += c.jump
	}
	for file, at := range jumps {
		source, err := os.ReadFile(filepath.Join(p.Root, file))
		if err != nil {
			return "", err
		}
		if err := add(file, withJumps(source, at)); err != nil {
			return "", err
		}
	}
	pkg, err := p.name()
	if err != nil {
		return "", err
	}
	chooser := fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar mutantOn = func() int {\n\tif n, err := strconv.Atoi(os.Getenv(%q)); err == nil {\n\t\treturn n\n\t}\n\treturn -1\n}()\n", pkg, variable)
	if err := add(filepath.Join(p.Folder, "zz_mutant.go"), chooser); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(work, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// withJumps puts text into a file at offsets.
func withJumps(source []byte, at map[int]string) string {
	var offsets []int
	for offset := range at {
		offsets = append(offsets, offset)
	}
	slices.Sort(offsets)
	var b bytes.Buffer
	last := 0
	for _, offset := range offsets {
		b.Write(source[last:offset])
		b.WriteString(at[offset])
		last = offset
	}
	b.Write(source[last:])
	return b.String()
}

func (p Package) name() (string, error) {
	paths, err := filepath.Glob(filepath.Join(p.Root, p.Folder, "*.go"))
	if err != nil || len(paths) == 0 {
		return "", fmt.Errorf("package %s has no files: %w", p.Folder, err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), paths[0], nil, parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	return file.Name.Name, nil
}

// functionCopy is a function with a mistake in it, under another name.
type functionCopy struct {
	text string // a whole file
	body int    // offset of the function's body in its file, after the brace
	jump string // stands there, and calls the copy
}

// copyOf is the copy of a mistake's function.
func (p Package) copyOf(m Mutant, i int) (functionCopy, error) {
	source, err := os.ReadFile(filepath.Join(p.Root, m.File))
	if err != nil {
		return functionCopy{}, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, m.File, source, parser.SkipObjectResolution)
	if err != nil {
		return functionCopy{}, err
	}
	at := func(pos token.Pos) int { return set.Position(pos).Offset }
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Body == nil || m.offset < at(f.Body.Lbrace) || m.offset+len(m.Was) > at(f.End()) {
			continue
		}
		call, ok := callOf(f, fmt.Sprintf("%s_mutant%d", f.Name.Name, i))
		if !ok {
			break
		}
		head := string(source[at(f.Pos()):at(f.Name.Pos())]) + fmt.Sprintf("%s_mutant%d", f.Name.Name, i)
		mutated := head + string(source[at(f.Name.End()):m.offset]) + m.Now + string(source[m.offset+len(m.Was):at(f.End())])
		c := functionCopy{body: at(f.Body.Lbrace) + 1}
		c.text = "package " + file.Name.Name + "\n\n" + importsOf(file, mutated) + mutated + "\n"
		c.jump = fmt.Sprintf(" if mutantOn == %d { %s; return }; ", i, call)
		if f.Type.Results != nil {
			c.jump = fmt.Sprintf(" if mutantOn == %d { return %s }; ", i, call)
		}
		return c, nil
	}
	return functionCopy{}, fmt.Errorf("%s: %q is not in a function that can be copied", m.File, m.Was)
}

// callOf calls the copy of a function with the function's own parameters. It says false if
// one has no name, or the function has type parameters.
func callOf(f *ast.FuncDecl, name string) (string, bool) {
	if f.Type.TypeParams != nil {
		return "", false
	}
	if f.Recv != nil {
		r := f.Recv.List[0]
		if len(r.Names) == 0 || r.Names[0].Name == "_" {
			return "", false
		}
		name = r.Names[0].Name + "." + name
	}
	var args []string
	for _, field := range f.Type.Params.List {
		if len(field.Names) == 0 {
			return "", false
		}
		for _, n := range field.Names {
			if n.Name == "_" {
				return "", false
			}
			arg := n.Name
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	return name + "(" + strings.Join(args, ", ") + ")", true
}

// importsOf are those of a file's imports that a text uses.
func importsOf(file *ast.File, text string) string {
	var b strings.Builder
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := filepath.Base(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\.`).MatchString(text) {
			continue
		}
		fmt.Fprintf(&b, "import %s %s\n", name, spec.Path.Value)
	}
	return b.String()
}
