package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/plain"
)

// harmlessYAML is an object of JSON as YAML. YAML leaves characters that turn the direction of
// writing as they are: a control character that the object has not stands for each until it is
// YAML, and has their string written with escapes.
func harmlessYAML(object []byte) ([]byte, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return nil, err
	}
	escaped := plain.JSON(compact.Bytes())
	marker, err := unusedControl(escaped)
	if err != nil {
		return nil, err
	}
	text, err := yaml.JSONToYAML(mark(escaped, marker))
	if err != nil {
		return nil, err
	}
	return regexp.MustCompile(fmt.Sprintf(`\\x%02X|\\u%04X`, marker, marker)).ReplaceAll(text, []byte(`\u`)), nil
}

// turning is an escape of JSON for a character that turns the direction of writing.
var turning = regexp.MustCompile(`^\\u(061c|200e|200f|202[a-e]|206[6-9])`)

// mark puts the marker, and the number of the character, into the place of each such escape.
func mark(object []byte, marker rune) []byte {
	var marked []byte
	for i := 0; i < len(object); i++ {
		switch {
		case object[i] != '\\':
			marked = append(marked, object[i])
		case turning.Match(object[i:]):
			marked = fmt.Appendf(marked, `\u%04x`, marker)
			i++ // the number follows
		default:
			marked = append(marked, object[i], object[i+1])
			i++
		}
	}
	return marked
}

// unusedControl is a control character that an object of JSON has not.
func unusedControl(object []byte) (rune, error) {
	for c := rune(1); c < 0x20; c++ {
		switch {
		case c >= 0x07 && c <= 0x0d || c == 0x1b: // JSON or YAML have words of their own for them
		case !bytes.Contains(object, fmt.Appendf(nil, `\u%04x`, c)):
			return c, nil
		}
	}
	return 0, errors.New("its texts have every control character: ask for -o json")
}
