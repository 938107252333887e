// Package assert says in one line what nearly every test checks.
package assert

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Must ends the test at the first error: what follows needs what has failed.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ErrorOf is the error of a call whose value does not matter.
func ErrorOf[T any](_ T, err error) error { return err }

// NoError reports an error, and the test goes on. The words say what has failed.
func NoError(t testing.TB, err error, words ...any) {
	t.Helper()
	if err != nil {
		t.Error(before(words)+"error", err)
	}
}

// Error reports another error than the one wanted, "" for none.
func Error(t testing.TB, want string, err error, words ...any) {
	t.Helper()
	if err == nil && want != "" || err != nil && err.Error() != want {
		t.Errorf("%serror %v, want %q", before(words), err, want)
	}
}

// ErrorContains reports an error without the text, and none.
func ErrorContains(t testing.TB, text string, err error, words ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%serror %v, want %q in it", before(words), err, text)
	}
}

// ErrorIs reports an error that is none of a kind, and none.
func ErrorIs(t testing.TB, kind, err error, words ...any) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%serror %v, want %v", before(words), err, kind)
	}
}

// Fails reports that there is no error. The words say what that means.
func Fails(t testing.TB, err error, words ...any) {
	t.Helper()
	if err == nil {
		t.Error(before(words) + "no error")
	}
}

// Empty reports what is in a slice, a map or a text.
func Empty(t testing.TB, value any, words ...any) {
	t.Helper()
	if reflect.ValueOf(value).Len() > 0 {
		t.Errorf("%s%q, want none", before(words), value)
	}
}

func before(words []any) string {
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprint(words...) + ": "
}

// True fails the test with these words, which say what is wrong, unless it holds.
func True(t testing.TB, holds bool, format string, words ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, words...)
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

// Deep reports how a value differs from the one wanted, by go-cmp. The words say what it is; empty: the test says it.
func Deep(t testing.TB, words string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		if words != "" {
			words += " "
		}
		t.Errorf("%s(-want +got):\n%s", words, diff)
	}
}

// AtEnd has something done when the test ends, which fails the test if it does not succeed.
func AtEnd(t testing.TB, do func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := do(); err != nil {
			t.Error(err)
		}
	})
}

// Require ends the test if something is not so: what follows needs it. The words say what there is instead.
func Require(t testing.TB, is bool, format string, words ...any) {
	t.Helper()
	if !is {
		t.Fatalf(format, words...)
	}
}

// Got is what a call has returned.
type Got[T any] struct {
	value T
	err   error
}

// Get keeps what a call returns, for Must.
func Get[T any](value T, err error) Got[T] { return Got[T]{value, err} }

// Must ends the test if the call has failed, and returns its value.
func (g Got[T]) Must(t testing.TB) T {
	t.Helper()
	Must(t, g.err)
	return g.value
}

// Context is the test's, and ends after a time, too.
func Context(t testing.TB, within time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// Runs has something run until the test ends, or until it is stopped before. Both wait for its end.
func Runs(t testing.TB, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// Serves is Runs of what says at its end whether it has gone well.
func Serves(t testing.TB, serve func(context.Context) error) (stop func()) {
	return Runs(t, func(ctx context.Context) {
		if err := serve(ctx); err != nil {
			t.Error(err)
		}
	})
}
