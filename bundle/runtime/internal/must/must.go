// Package must ends tests that cannot go on. The other modules have it, too: this one depends on none of them.
package must

import "errors"

// T is what ends: a *testing.T, or what has one.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Succeed ends the test unless all errors are nil.
func Succeed(t T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
