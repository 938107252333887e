package nodefaults

import _ "embed"

// Schema is the JSON schema of scenarios of nodes.
//
//go:embed schema.json
var Schema string
