package worker

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestEveryEffectHasARow: an effect whose answer the machine waits for is carried out, but
// for Publish, which the worker's sink answers.
func TestEveryEffectHasARow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../lifecycle/effect.go", nil, parser.SkipObjectResolution)
	assert.Must(t, err)
	want := []string{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "EffectID" || len(f.Recv.List[0].Names) == 0 {
			continue // one without an ID does not name its receiver
		}
		if name := f.Recv.List[0].Type.(*ast.Ident).Name; name != "Publish" {
			want = append(want, name)
		}
	}
	got := []string{}
	for effect := range rows {
		got = append(got, effect.Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 20 {
		t.Errorf("effects with an ID, and rows (-want +got):\n%s", diff)
	}
}
