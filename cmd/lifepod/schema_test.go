package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/run/story"
	"github.com/lifepod/lifepod/why"
)

var rewrite = flag.Bool("rewrite", false, "write docs/schema.json anew")

// schema is a JSON schema, or a part of one.
type schema map[string]any

// TestSchema: docs/schema.json has the fields of what -o json writes. With -rewrite fields are added to it; one that is gone, or has
// another type, breaks programs.
func TestSchema(t *testing.T) {
	const file = "../../docs/schema.json"
	defs := schema{}
	of(reflect.TypeFor[story.Line](), defs)
	of(reflect.TypeFor[why.Explanation](), defs)
	of(reflect.TypeFor[why.Trouble](), defs)
	now := "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"$defs\": {"
	for i, name := range slices.Sorted(maps.Keys(defs)) { // a line each
		def := assert.Get(json.Marshal(defs[name])).Must(t)
		now += map[bool]string{true: ","}[i > 0] + fmt.Sprintf("\n%q: %s", name, def)
	}
	now += "\n}}\n"
	kept := assert.Get(os.ReadFile(file)).Must(t)
	var before, after any
	assert.Must(t, json.Unmarshal(kept, &before))
	assert.Must(t, json.Unmarshal([]byte(now), &after))
	added(t, "", before, after)
	if *rewrite && !t.Failed() {
		assert.Must(t, os.WriteFile(file, []byte(now), 0o600))
		return
	}
	assert.Deep(t, "docs/schema.json, which go test ./cmd/lifepod -run TestSchema -rewrite writes", before, after)
}

// added says what a schema had before and has no more.
func added(t *testing.T, at string, before, after any) {
	t.Helper()
	had, is := before.(map[string]any)
	if !is {
		if strings.HasSuffix(at, "/type") {
			assert.Deep(t, at, before, after)
		}
		return
	}
	has, _ := after.(map[string]any)
	for name, value := range had {
		_, still := has[name]
		assert.True(t, still, "%s/%s is gone", at, name)
		added(t, at+"/"+name, value, has[name])
	}
}

// of is the schema of a type; structs are in defs. Those of Kubernetes are objects as its API has them.
func of(t reflect.Type, defs schema) schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}
	case strings.HasPrefix(t.PkgPath(), "k8s.io/") && t.Kind() == reflect.Struct:
		return schema{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return of(t.Elem(), defs)
	case reflect.Slice:
		return schema{"type": "array", "items": of(t.Elem(), defs)}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": of(t.Elem(), defs)}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Struct:
	default:
		return schema{"type": "integer"}
	}
	name := strings.TrimPrefix(t.String(), "*")
	if defs[name] == nil {
		def := schema{"type": "object"}
		defs[name] = def
		properties, required := schema{}, []string{}
		for f := range t.Fields() {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
				maps.Copy(properties, defs[strings.TrimPrefix(of(f.Type, defs)["$ref"].(string), "#/$defs/")].(schema)["properties"].(schema))
			case f.IsExported() && field != "-":
				properties[field] = of(f.Type, defs)
				if options == "" {
					required = append(required, field)
				}
			}
		}
		def["properties"], def["required"] = properties, required
	}
	return schema{"$ref": "#/$defs/" + name}
}
