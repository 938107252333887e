package plain

import (
	"encoding/json"
	"regexp"
	"slices"
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
	n, err := Writer(&out).Write([]byte("a\x1b\n"))
	assert.True(t, n == 3 && err == nil && out.String() == "a^[\n", "written %q, %d, %v", out.String(), n, err)
}

func TestJSON(t *testing.T) {
	for _, text := range []string{"plain", "\x1b[2J \u009b31m \x7f « \U0001F600 \u202e"} {
		encoded := assert.Get(json.Marshal(text)).Must(t)
		encoded = JSON(encoded)
		assert.True(t, !strings.ContainsFunc(string(encoded), func(r rune) bool { return unicode.IsControl(r) || changesDirection(r) }),
			"%q has control characters", encoded)
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

func TestName(t *testing.T) {
	known := []string{"image", "imagePullPolicy", "command", "env", "envFrom", "terminationGracePeriodSeconds"}
	for name, want := range map[string]string{
		"imagePullpolicy":               "imagePullPolicy",
		"imgae":                         "image",
		"cmd":                           "",
		"commands":                      "command",
		"terminationGracePeriodsSecond": "terminationGracePeriodSeconds",
		"replicas":                      "",
		strings.Repeat("x", 100_000):    "",
	} {
		assert.Equal(t, want, Nearest(name, known), "Name(%.40q)", name)
	}
}

// The nearest come first, and no more than are wanted.
func TestNames(t *testing.T) {
	got := NearestNames("PodCertificate", []string{"ContainerCheckpoint", "PodCertificates", "PodCertificateRequest", "podcertificate"}, 2)
	want := []string{"podcertificate", "PodCertificates"}
	assert.True(t, slices.Equal(got, want), "%v, want %v", got, want)
}

func TestOutput(t *testing.T) {
	const red, bold, off = "\x1b[31m", "\x1b[1m", "\x1b[0m"
	for name, tc := range map[string]struct{ pieces, want []string }{
		"text":                         {[]string{"two lines\n\tof «text» 日本\n"}, []string{"two lines\n\tof «text» 日本\n"}},
		"what moves the cursor":        {[]string{"\x1b[2J\x1b]0;title\a\x1bc\b\x9b2J\u009b2J\u202e"}, []string{`^[[2J^[]0;title^G^[c^H\x9b2J\u009b2J\u202e`}},
		"carriage returns":             {[]string{"10%\r20%\r\n", "30%\r", "40%\r", "\n"}, []string{`10%\r20%` + "\r\n", "30%", `\r40%`, "\r\n"}},
		"a colour":                     {[]string{"a " + red + "b" + off + " c\n"}, []string{"a " + red + "b" + off + " c\n"}},
		"a colour over lines":          {[]string{red + "b\n\nc", "d\n", off + "e\n"}, []string{red + "b" + off + "\n\n" + red + "c" + off, red + "d" + off + "\n", "e\n"}},
		"several colours":              {[]string{red + bold + "b\n", "c" + "\x1b[0;32m" + "d\n", "\x1b[m" + "e"}, []string{red + bold + "b" + off + "\n", red + bold + "c" + off + "\x1b[0;32md" + off + "\n", "e"}},
		"a colour in pieces":           {[]string{"a\x1b", "[", "38;2;1;2;3", "mb"}, []string{"a", "", "", "\x1b[38;2;1;2;3mb" + off}},
		"a character in pieces":        {[]string{"a\xe6\x97", "\xa5b"}, []string{"a", "日b"}},
		"not a colour":                 {[]string{"\x1b[31;2Jx", "\x1b[?25lx", "\x1b[3", "1x"}, []string{"^[[31;2Jx", "^[[?25lx", "", "^[[31x"}},
		"never a colour":               {[]string{"\x1b[" + strings.Repeat("1;", maxColour) + "mx"}, []string{"^[[" + strings.Repeat("1;", maxColour) + "mx"}},
		"the beginning of a character": {[]string{"a\xe6", "b"}, []string{"a", `\xe6b`}},
	} {
		var o Output
		var got []string
		for _, piece := range tc.pieces {
			got = append(got, o.Text(piece))
		}
		assert.Deep(t, name, tc.want, got)
	}
	var b strings.Builder
	w := OutputWriter(&b)
	for _, piece := range []string{"a\x1b[2J\n", "\xe6"} {
		n, err := w.Write([]byte(piece))
		assert.True(t, n == len(piece) && err == nil, "%d, %v", n, err)
	}
	err := w.Close()
	assert.True(t, err == nil && b.String() == "a^[[2J\n\\xe6", "%q, %v", b.String(), err)
}

var colours = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// FuzzOutput: however output comes in pieces, nothing but colours and line ends is left that a
// terminal obeys, and no colour outlasts its piece.
func FuzzOutput(f *testing.F) {
	f.Add("\x1b[2J\u009b\x9b\r\nx\t\x1b[31mred\x1b[0m", 3)
	f.Add("\x1b[8m\r\n\x1b[", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		var o Output
		shown := ""
		for piece := range slices.Chunk([]byte(text), max(size, 1)) {
			got := o.Text(string(piece))
			all := colours.FindAllString(got, -1)
			assert.True(t, len(all) == 0 || all[len(all)-1] == coloursOff, "%q leaves a colour", got)
			shown += got
		}
		shown += o.Rest()
		left := strings.ReplaceAll(colours.ReplaceAllString(shown, ""), "\r\n", "\n")
		if strings.ContainsFunc(left, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || changesDirection(r)
		}) || strings.ToValidUTF8(left, "") != left {
			t.Errorf("%q became %q", text, shown)
		}
	})
}
