package scenario

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// The schema has the fields of the Go types, each described, and no others.
func TestSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	var schema struct {
		node
		Defs map[string]node `json:"$defs"`
	}
	assert.Must(t, json.Unmarshal([]byte(Schema), &schema))
	types := map[string]reflect.Type{
		"container": reflect.TypeFor[Container](), "run": reflect.TypeFor[Run](), "probes": reflect.TypeFor[Probes](), "answer": reflect.TypeFor[Answer](),
		"hooks": reflect.TypeFor[Hooks](), "hook": reflect.TypeFor[Hook](), "stop": reflect.TypeFor[Stop](), "output": reflect.TypeFor[Output](), "usage": reflect.TypeFor[Usage](),
		"image": reflect.TypeFor[Image](), "call": reflect.TypeFor[Call](), "event": reflect.TypeFor[Event](), "nothing": reflect.TypeFor[Nothing](),
		"delete": reflect.TypeFor[Delete](), "restart": reflect.TypeFor[Restart](), "kill": reflect.TypeFor[Kill](), "evict": reflect.TypeFor[Evict](), "down": reflect.TypeFor[Down](),
		"change": reflect.TypeFor[Change](), "lose": reflect.TypeFor[Lose](), "delay": reflect.TypeFor[Delay](), "refusal": reflect.TypeFor[Refusal](), "objects": reflect.TypeFor[Objects](), "added": reflect.TypeFor[Added](), "resize": reflect.TypeFor[Resize](),
	}
	compare(t, "scenario", schema.node, reflect.TypeFor[Scenario]())
	for name, def := range schema.Defs {
		if name == "span" || name == "time" || name == "quantity" {
			continue
		}
		of, known := types[name]
		if !known {
			t.Errorf("the schema has %s, which is no type", name)
			continue
		}
		compare(t, name, def, of)
		delete(types, name)
	}
	for name := range types {
		t.Errorf("the schema does not have %s", name)
	}
	calls := schema.Defs["call"].Properties["call"].Enum
	assert.Deep(t, "calls (-known +schema)", Calls, calls)
	signals := schema.Defs["run"].Properties["signal"].Enum
	assert.Deep(t, "signals (-known +schema)", slices.Sorted(maps.Keys(Signals)), slices.Sorted(slices.Values(signals)))
}

// node is a part of a JSON schema.
type node struct {
	Properties map[string]node `json:"properties"`
	Additional any             `json:"additionalProperties"`
	Required   []string        `json:"required"`
	Enum       []string        `json:"enum"`
}

func compare(t *testing.T, name string, schema node, of reflect.Type) {
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
