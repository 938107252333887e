// Package compare tells in tests how something differs from what is wanted.
package compare

import "github.com/google/go-cmp/cmp"

// T is a test.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Equal fails the test unless got is as wanted. It shows what that is, and the difference.
func Equal(t T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if what != "" {
		what += " "
	}
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s(-want +got):\n%s", what, diff)
	}
}
