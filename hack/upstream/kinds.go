package main

import (
	"go/ast"
	"go/printer"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// value is the one value of a constant or variable, nil if it is something else.
func value(node ast.Node) ast.Expr {
	if spec, is := node.(*ast.ValueSpec); is && len(spec.Names) == 1 && len(spec.Values) == 1 {
		return spec.Values[0]
	}
	return nil
}

// reason is how a reason, an event, a condition and the like are written.
var reason = regexp.MustCompile(`^"[A-Z][A-Za-z0-9]+"$`)

func isReason(node ast.Node) bool {
	literal, is := value(node).(*ast.BasicLit)
	return is && reason.MatchString(literal.Value)
}

// reasons are the constants of such values.
func reasons(d declarations) map[string]string {
	found := map[string]string{}
	for key, declared := range d {
		if isReason(declared.node) {
			found[key] = text(value(declared.node))
		}
	}
	return found
}

// isGates says that a variable has the stages of feature gates.
func isGates(node ast.Node) bool {
	literal, is := value(node).(*ast.CompositeLit)
	if !is {
		return false
	}
	of, is := literal.Type.(*ast.MapType)
	return is && strings.HasSuffix(text(of.Value), "VersionedSpecs")
}

// isInternal says that a declaration is a type that is not stored or sent.
func isInternal(d declaration) bool {
	_, is := d.node.(*ast.TypeSpec)
	return is && !strings.Contains(d.text, "`json:")
}

// gates are the stage and the default of each feature gate in its version.
func gates(d declarations) map[string]string {
	found := map[string]string{}
	for _, declared := range d {
		if !isGates(declared.node) {
			continue
		}
		for _, element := range value(declared.node).(*ast.CompositeLit).Elts {
			gate := element.(*ast.KeyValueExpr)
			specs := gate.Value.(*ast.CompositeLit).Elts
			name := text(gate.Key)
			found[name[strings.LastIndex(name, ".")+1:]] = stage(specs[len(specs)-1].(*ast.CompositeLit))
		}
	}
	return found
}

// stage is a specification of a feature gate in words; the last one of a gate holds.
func stage(spec *ast.CompositeLit) string {
	of := map[string]string{}
	for _, element := range spec.Elts {
		field := element.(*ast.KeyValueExpr)
		of[text(field.Key)] = text(field.Value)
	}
	words := strings.TrimPrefix(of["PreRelease"], "featuregate.") + ", " +
		map[string]string{"true": "on", "false": "off"}[of["Default"]]
	if of["LockToDefault"] == "true" {
		words += ", locked"
	}
	return words
}

// fields are the types of the fields of structs, and of those that they are made of, as far as they are of the package.
func fields(d declarations, roots ...string) map[string]string {
	found := map[string]string{}
	seen := map[string]bool{}
	for todo := slices.Clone(roots); len(todo) > 0; todo = todo[1:] {
		spec, is := d[todo[0]].node.(*ast.TypeSpec)
		if !is || seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		of, is := spec.Type.(*ast.StructType)
		if !is {
			continue
		}
		for _, field := range of.Fields.List {
			found[spec.Name.Name+"."+fieldName(field)] = text(field.Type)
			ast.Inspect(field.Type, func(n ast.Node) bool {
				if id, is := n.(*ast.Ident); is {
					todo = append(todo, id.Name)
				}
				return true
			})
		}
	}
	return found
}

// fieldName is a field's name in JSON; one that is embedded has its type's.
func fieldName(field *ast.Field) string {
	if field.Tag != nil {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		if name, _, _ := strings.Cut(tag, ","); name != "" {
			return name
		}
	}
	return text(field.Type)
}

func text(node ast.Node) string {
	var out strings.Builder
	_ = printer.Fprint(&out, token.NewFileSet(), node) // a builder takes everything
	return out.String()
}
