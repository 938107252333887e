package machine

import "time"

// Until looks again and again until something is so, no longer than Patience: for what nobody tells of.
func Until(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(Patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("never came: %s", what)
		}
	}
}
