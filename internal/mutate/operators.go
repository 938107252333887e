package mutate

import (
	"go/ast"
	"go/token"
	"strings"
)

// The kinds of mistakes.
const (
	negated  = "condition negated"
	logic    = "&& and || exchanged"
	compared = "comparison changed"
	skipped  = "call skipped"
	dropped  = "assignment dropped"
	swapped  = "order swapped"
	constant = "constant changed"
	early    = "early return"
	emptied  = "case emptied"
)

// finder collects the mistakes that can be made in one file.
type finder struct {
	set    *token.FileSet
	source []byte
	name   string
	found  []Mutant
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) text(from, to token.Pos) string {
	return string(f.source[f.offset(from):f.offset(to)])
}

// replace notes that the text between two places becomes another.
func (f *finder) replace(operator string, from, to token.Pos, now string) {
	line := f.set.Position(from).Line
	f.found = append(f.found, Mutant{
		File: f.name, Line: line, Operator: operator, Was: f.text(from, to), Now: now, offset: f.offset(from),
		Text: strings.TrimSpace(strings.Split(string(f.source), "\n")[line-1]),
	})
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.replace(negated, n.Cond.Pos(), n.Cond.End(), "!("+f.text(n.Cond.Pos(), n.Cond.End())+")")
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
		if len(n.Body) > 0 {
			f.replace(emptied, n.Body[0].Pos(), n.Body[len(n.Body)-1].End(), "")
		}
	case *ast.BasicLit:
		if n.Kind == token.INT {
			f.replace(constant, n.Pos(), n.End(), map[bool]string{true: "1", false: "0"}[n.Value == "0"])
		}
	case *ast.Ident:
		if other, isBool := map[string]string{"true": "false", "false": "true"}[n.Name]; isBool {
			f.replace(constant, n.Pos(), n.End(), other)
		}
	case *ast.FuncDecl:
		f.function(n)
	case *ast.ImportSpec:
		return false
	}
	return true
}

var others = map[token.Token]struct{ operator, now string }{
	token.LAND: {logic, "||"}, token.LOR: {logic, "&&"},
	token.LSS: {compared, "<="}, token.LEQ: {compared, "<"}, token.GTR: {compared, ">="}, token.GEQ: {compared, ">"},
	token.EQL: {compared, "!="}, token.NEQ: {compared, "=="},
	token.ADD: {constant, "-"}, token.SUB: {constant, "+"},
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if other, known := others[n.Op]; known {
		f.replace(other.operator, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.now)
	}
}

// statements skips calls, drops assignments to fields, and exchanges neighbours.
func (f *finder) statements(list []ast.Stmt) {
	for i, s := range list {
		kind := kindOf(s)
		if kind == "" {
			continue
		}
		f.replace(kind, s.Pos(), s.End(), "")
		if i+1 < len(list) && kindOf(list[i+1]) != "" {
			next := list[i+1]
			between := f.text(s.End(), next.Pos())
			if strings.Contains(between, "//") {
				between = "\n" // a comment stays at its line's end
			}
			f.replace(swapped, s.Pos(), next.End(), f.text(next.Pos(), next.End())+between+f.text(s.Pos(), s.End()))
		}
	}
}

func kindOf(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, is := s.X.(*ast.CallExpr); is && nameOf(call.Fun) != "panic" {
			return skipped
		}
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			return dropped
		}
	case *ast.IncDecStmt:
		return dropped
	}
	return ""
}

func nameOf(e ast.Expr) string {
	if name, is := e.(*ast.Ident); is {
		return name.Name
	}
	return ""
}

// function returns at once from functions without results, and from those that say yes or
// no with either word.
func (f *finder) function(n *ast.FuncDecl) {
	if n.Body == nil || len(n.Body.List) == 0 {
		return
	}
	at := n.Body.List[0].Pos()
	switch results := n.Type.Results; {
	case results == nil:
		f.replace(early, at, at, "return; ")
	case len(results.List) == 1 && nameOf(results.List[0].Type) == "bool":
		f.replace(early, at, at, "return false; ")
		f.replace(early, at, at, "return true; ")
	}
}
