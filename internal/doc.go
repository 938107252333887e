// Package internal has the tests of the small packages below: a test program each would be linked for a few lines.
package internal
