// Package assert says in one line what nearly every test checks. The module above has it, too: this one does not depend on it.
package assert

import (
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"
)

// T is the test, which goes on after Errorf.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Must ends the test unless all errors are nil: what follows needs what has failed.
func Must(t T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Require ends the test if something is not so. The words say what there is instead.
func Require(t T, is bool, format string, words ...any) {
	t.Helper()
	if !is {
		t.Fatalf(format, words...)
	}
}

// ErrorOf is the error of a call whose value does not matter.
func ErrorOf[V any](_ V, err error) error { return err }

// NoError reports an error. The words say what has failed.
func NoError(t T, err error, words ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%serror %v", before(words), err)
	}
}

// Fails reports that there is no error. The words say what that means.
func Fails(t T, err error, words ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("%sno error", before(words))
	}
}

func before(words []any) string {
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprint(words...) + ": "
}

// True fails the test with these words, which say what is wrong, unless it holds.
func True(t T, holds bool, format string, words ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, words...)
	}
}

// Equal reports another value than the one wanted, of what the words say.
func Equal[V comparable](t T, want, got V, format string, words ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %#v, want %#v", fmt.Sprintf(format, words...), got, want)
	}
}

// Deep reports how a value differs from the one wanted, by go-cmp. The words say what it is.
func Deep(t T, words string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", words, diff)
	}
}

// Got is what a call has returned.
type Got[V any] struct {
	value V
	err   error
}

// Get keeps what a call returns, for Must.
func Get[V any](value V, err error) Got[V] { return Got[V]{value, err} }

// Must ends the test if the call has failed, and returns its value.
func (g Got[V]) Must(t T) V {
	t.Helper()
	Must(t, g.err)
	return g.value
}
