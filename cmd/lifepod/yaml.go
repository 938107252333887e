package main

import (
	"bytes"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/plain"
)

// escapes are those of JSON; the longer ones are of characters that turn the direction of writing.
var escapes = regexp.MustCompile(`\\(u061c|u200e|u200f|u202[a-e]|u206[6-9]|.)`)

// harmlessYAML is an object of JSON as YAML. YAML leaves characters that turn the direction of
// writing as they are: a control character stands for each until it is YAML, and has their string
// written with escapes. An object that may have that one is left as JSON, which is YAML, too.
func harmlessYAML(object []byte) ([]byte, error) {
	object = plain.JSON(object)
	marked := escapes.ReplaceAllFunc(object, func(escape []byte) []byte {
		if len(escape) == len(`\n`) {
			return escape
		}
		return append([]byte(`\u0001`), escape[len(`\u`):]...)
	})
	if bytes.Equal(marked, object) {
		return yaml.JSONToYAML(object)
	}
	if bytes.Contains(object, []byte("u0001")) || bytes.Contains(object, []byte("x01")) {
		return object, nil
	}
	text, err := yaml.JSONToYAML(marked)
	return bytes.ReplaceAll(text, []byte(`\x01`), []byte(`\u`)), err
}
