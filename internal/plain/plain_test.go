package plain

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"two lines\n\tof «text» 日本": "two lines\n\tof «text» 日本",
		"\x1b[2J\x1b]0;title\a":     "^[[2J^[]0;title^G",
		"ready\rnot":                `ready\rnot`,
		"a\b\x7f\x00":               "a^H^?^@",
		"\u009b31m \u0085":          `\u009b31m \u0085`,
		"\x9b31m":                   `\x9b31m`,
		"\uFFFD is not an error":    "\uFFFD is not an error",
		"web\u202egnp.\u2066\u200f": `web\u202egnp.\u2066\u200f`,
	} {
		assert.Equal(t, want, Text(text), "%q: got", text)
	}
	assert.Equal(t, "a ^[b c", Line(" a\n\x1bb\tc\n"), "on one line: got")
	var out strings.Builder
	if n, err := Writer(&out).Write([]byte("a\x1b\n")); n != 3 || err != nil || out.String() != "a^[\n" {
		t.Errorf("written %q, %d, %v", out.String(), n, err)
	}
}

func TestJSON(t *testing.T) {
	for _, text := range []string{"plain", "\x1b[2J \u009b31m \x7f « \U0001F600 \u202e"} {
		encoded, err := json.Marshal(text)
		assert.Must(t, err)
		encoded = JSON(encoded)
		if strings.ContainsFunc(string(encoded), func(r rune) bool { return unicode.IsControl(r) || changesDirection(r) }) {
			t.Errorf("%q has control characters", encoded)
		}
		var got string
		assert.Must(t, json.Unmarshal(encoded, &got))
		assert.Deep(t, "", text, got)
	}
}

// FuzzText: nothing is left that a terminal obeys, and nothing else changes.
func FuzzText(f *testing.F) {
	f.Add("\x1b[2J\u009b\x9b\r\nx\t")
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) || strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q became %q", text, got)
		}
		assert.Equal(t, got, Text(got), "%q, made plain again", text)
	})
}
