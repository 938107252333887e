package nodes_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
	"github.com/lifepod/lifepod/sim/scenario"
)

// The schema has the fields of the Go types, and no others.
func TestNodeFaultsSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	var schema struct {
		schemaNode
		Defs map[string]schemaNode `json:"$defs"`
	}
	assert.Must(t, json.Unmarshal([]byte(nodefaults.Schema), &schema))
	compareSchema(t, "scenario", schema.schemaNode, reflect.TypeFor[nodefaults.Scenario]())
	delete(schema.Defs, "span")
	delete(schema.Defs, "time")
	types := map[string]reflect.Type{
		"entry": reflect.TypeFor[nodefaults.Entry](), "event": reflect.TypeFor[nodefaults.Event](), "down": reflect.TypeFor[scenario.Down](), "nothing": reflect.TypeFor[scenario.Nothing](),
	}
	diff := cmp.Diff(slices.Sorted(maps.Keys(types)), slices.Sorted(maps.Keys(schema.Defs)))
	assert.Require(t, diff == "", "types (-types +schema):\n%s", diff)
	for name, of := range types {
		compareSchema(t, name, schema.Defs[name], of)
	}
}

// schemaNode is a part of a JSON schema.
type schemaNode struct {
	Properties map[string]any `json:"properties"`
	Additional any            `json:"additionalProperties"`
	Required   []string       `json:"required"`
}

func compareSchema(t *testing.T, name string, schema schemaNode, of reflect.Type) {
	t.Helper()
	var fields, required []string
	for f := range of.Fields() {
		field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, field)
		if options == "" {
			required = append(required, field)
		}
	}
	diff := cmp.Diff(slices.Sorted(slices.Values(fields)), slices.Sorted(maps.Keys(schema.Properties)))
	assert.True(t, diff == "", "%s: fields (-type +schema):\n%s", name, diff)
	diff = cmp.Diff(required, schema.Required)
	assert.True(t, diff == "", "%s: required (-type +schema):\n%s", name, diff)
	assert.True(t, schema.Additional == false, "%s: the schema allows other fields", name)
}
