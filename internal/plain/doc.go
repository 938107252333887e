// Package plain makes text of others harmless for a terminal: what a pod, an image, a
// registry or a manifest says must not move the cursor, hide lines or answer in the
// user's place. Escapes look as in kubectl: ESC is ^[, a carriage return \r.
//
// Output of containers is theirs and goes out as it is, as with kubectl logs, but on a terminal:
// see Output.
//
// plain.go also finds what a misspelt name most likely means.
package plain
