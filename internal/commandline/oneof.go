package commandline

import "strings"

// OneOf names what is allowed: "yaml, json or wide".
func OneOf(allowed []string) string {
	if len(allowed) < 2 {
		return strings.Join(allowed, "")
	}
	last := len(allowed) - 1
	return strings.Join(allowed[:last], ", ") + " or " + allowed[last]
}
