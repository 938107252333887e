package scenario

import _ "embed"

// Schema is the JSON schema of scenarios.
//
//go:embed schema.json
var Schema string
