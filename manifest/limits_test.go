package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestTooMuch feeds documents that are made to exhaust memory or time.
func TestTooMuch(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
	large := "&a " + strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"deep flow":        {[]byte("a: " + strings.Repeat("[", 200_000)), "depth"},
		"deep flow closed": {[]byte("a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), "nested deeper than"},
		"deep JSON":        {[]byte(`{"a": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}"), "nested deeper than"},
		"deep block":       {[]byte("a:\n" + strings.Repeat("- ", 5000) + "x"), "nested deeper than"},
		"many nodes":       {[]byte("a: [" + strings.Repeat("x,", 400_000) + "]"), "too large"},
		"many bytes":       {[]byte("a: " + large + "\nb: [" + strings.Repeat("*a,", 10) + "]"), "too large"},
		"large document":   {[]byte("# " + strings.Repeat("x", maxDocumentBytes) + "\na: b"), "should be at most 3 MiB"},
		"large file":       {bytes.Repeat([]byte("a: b\n---\n"), maxBytes/9+1), "should be at most 32 MiB in all"},
		"UTF-16":           {[]byte("\xff\xfek\x00i\x00n\x00d\x00"), "UTF-16"},
		"binary":           {[]byte("a: b\n\x89PNG"), "f.yaml:2: the file is not UTF-8 text"},
		"many unknown":     {[]byte(pod + "  " + strings.Repeat("x", 100) + ": [1]\n" + manyFields(20_000)), "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]Source{{Name: "f.yaml", Data: c.data}}, Options{})
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %.300v, want one with %q", err, c.want)
			}
			if len(e.Also) >= maxErrors {
				t.Errorf("%d errors at once, want at most %d", 1+len(e.Also), maxErrors)
			}
		})
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  unknownField%d: 1\n", i)
	}
	return b.String()
}
