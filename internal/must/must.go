// Package must ends tests that cannot go on.
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

// AtEnd has something done when the test ends, which fails the test if it does not succeed.
func AtEnd(t interface {
	T
	Cleanup(f func())
	Error(args ...any)
}, do func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := do(); err != nil {
			t.Error(err)
		}
	})
}
