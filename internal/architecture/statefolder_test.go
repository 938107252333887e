package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// notState are names that are joined to a root without being lifepod's in a state folder.
var notState = []string{
	"containerd.d", "config.json", // the user's
	"sys/devices/system/cpu/online", "proc", "sys/kernel/mm/hugepages", // the machine's root
	// the kubelet's, in the folder of a node's pods
	"plugins_registry", "plugins", "device-plugins", "checkpoints", "cpu_manager_state", "memory_manager_state", "dra_manager_state", "dra_health_state",
}

// TestStateFolder: `lifepod down --purge` removes what rootfolder.Entries names and nothing else,
// so nobody may name a file in a state folder elsewhere.
func TestStateFolder(t *testing.T) {
	files := 0
	for _, dir := range []string{"bundle", "cluster", "cmd", "control", "host", "leftovers", "node", "run", "unattended", "worker"} {
		assert.Must(t, filepath.WalkDir(filepath.Join("../..", dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains([]string{"../../bundle/build", "../../bundle/runtime", "../../cluster/e2e"}, path):
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			files++
			for _, name := range namesInRoot(file) {
				assert.True(t, slices.Contains(notState, name),
					"%s joins %q to a root: make it an entry of internal/rootfolder, or list it here if it is not lifepod's", path, name)
			}
			return nil
		}))
	}
	assert.True(t, files >= 300, "%d files were read", files)
}

func TestNamesInRootAreFound(t *testing.T) {
	const source = `package p
var a, b, c, d = filepath.Join(root, "a"), filepath.Join(x.Root, "b", y), filepath.Join(o.rootDir(), "c/d"), filepath.Join(dir, "e")`
	file := assert.Get(parser.ParseFile(token.NewFileSet(), "p.go", source, 0)).Must(t)
	assert.Deep(t, "found", []string{"a", "b", "c/d"}, namesInRoot(file))
}

// namesInRoot are the literals that follow a root in calls of filepath.Join.
func namesInRoot(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 || lastName(call.Fun) != "Join" {
			return true
		}
		literal, ok := call.Args[1].(*ast.BasicLit)
		if ok && slices.Contains([]string{"root", "Root", "rootDir", "RootDir"}, lastName(call.Args[0])) {
			name, _ := strconv.Unquote(literal.Value) // it was parsed
			names = append(names, name)
		}
		return true
	})
	return names
}

// lastName is what an expression is called: of a selector the field, of a call the function.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	}
	return ""
}
