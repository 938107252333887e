package cri

import "regexp"

// prose is what runtimes put in front of a reason: who called whom. Nobody but their
// authors can do anything about it.
var prose = regexp.MustCompile(`rpc error: code = \w+ desc = ` +
	`|Internal error occurred: |error executing command in container: ` +
	`|failed to (?:create|start) containerd task(?: "[^"]*")?: |failed to create shim task: |failed to exec in container: |failed to start exec "[^"]*": ` +
	`|OCI runtime (?:create|exec|start) failed: |runc (?:create|exec|start) failed: |\bexec failed: ` +
	`|unable to start container process: |error during container init: |failed to pull and unpack image "[^"]*": `)

// Reason is what a runtime says of a failure without the names of its own parts, for
// people. A status keeps the runtime's words, as in Kubernetes.
func Reason(text string) string { return prose.ReplaceAllString(text, "") }
