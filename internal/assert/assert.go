// Package assert says in one line what nearly every test checks.
package assert

import "testing"

// Must ends the test at the first error: what follows needs what has failed.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// NoError reports an error, and the test goes on.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Equal reports another value than the one wanted, of what the words say.
func Equal[T comparable](t testing.TB, want, got T, format string, words ...any) {
	t.Helper()
	verbs := ": %v, want %v"
	if _, is := any(got).(string); is {
		verbs = ": %q, want %q"
	}
	if got != want {
		t.Errorf(format+verbs, append(words, got, want)...)
	}
}

// NoDiff reports what cmp.Diff(want, got) has found.
func NoDiff(t testing.TB, diff string) {
	t.Helper()
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// NoDiffIn is NoDiff with words that say what differs.
func NoDiffIn(t testing.TB, diff, format string, words ...any) {
	t.Helper()
	if diff != "" {
		t.Errorf(format+" (-want +got):\n%s", append(words, diff)...)
	}
}
