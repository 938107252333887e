package yamlsyntax

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/lifepod/lifepod/internal/assert"
)

const two = "a: 1\n---\nb: |\n  x\n  y\n"

// TestDocuments reads what editors of Windows and others save.
func TestDocuments(t *testing.T) {
	mark := byteOrderMark
	replaced := func(with string) string { return string(bytes.ReplaceAll([]byte(two), []byte("\n"), []byte(with))) }
	for name, text := range map[string]string{
		"as it is":                       two,
		"CRLF":                           replaced("\r\n"),
		"CR":                             replaced("\r"),
		"NEL":                            replaced("\u0085"),
		"PS":                             replaced("\u2029"),
		"a mark":                         mark + two,
		"a mark after the marker":        "a: 1\n---\n" + mark + "b: |\n  x\n  y\n",
		"a mark before the marker":       "a: 1\n" + mark + "---\nb: |\n  x\n  y\n",
		"a mark after comments":          "a: 1\n---\n# c\n" + mark + "b: |\n  x\n  y\n",
		"a mark in front of each, CRLF":  mark + "a: 1\r\n" + mark + "---\r\nb: |\r\n  x\r\n  y\r\n",
		"a directive":                    "%YAML 1.1\n---\n" + two,
		"end markers and empty ones":     "---\na: 1\n...\n---\n# nothing\n---\n \n---\nb: |\n  x\n  y\n",
		"a marker with a line separator": "a: 1\n---\u2028b: |\n  x\n  y\n",
	} {
		documents, problem := Documents([]byte(text))
		if problem != nil || len(documents) != 2 {
			t.Errorf("%s: %v and %d documents", name, problem, len(documents))
			continue
		}
		var got struct {
			A int
			B string
		}
		for _, d := range documents {
			assert.NoError(t, yaml.Unmarshal(d.Text, &got), name)
		}
		assert.True(t, got.A == 1 && (name == "PS" || got.B == "x\ny\n") && len(got.B) >= 3, "%s: a is %d, b %q", name, got.A, got.B)
	}
}

func TestJSONDocuments(t *testing.T) {
	documents, problem := Documents([]byte(byteOrderMark + "{\"a\": 1}\r\n" + byteOrderMark + " {\"b\": \"\\u2028\"}" + byteOrderMark + "{}"))
	want := []Document{{Line: 1, Text: []byte(`{"a": 1}`), JSON: true}, {Line: 2, Text: []byte(`{"b": "\u2028"}`), JSON: true}, {Line: 2, Text: []byte("{}"), JSON: true}}
	diff := cmp.Diff(want, documents)
	assert.True(t, problem == nil && diff == "", "%v, -want +got:\n%s", problem, diff)
}

func TestNotUTF8(t *testing.T) {
	var little, big, wide []byte
	for _, u := range utf16.Encode([]rune("kind: Pod\n")) {
		little, big, wide = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u)), append(wide, byte(u), byte(u>>8), 0, 0)
	}
	for want, texts := range map[string][][]byte{
		"the file is UTF-16 text; save it as UTF-8":                           {little, big, append([]byte("\xff\xfe"), little...), append([]byte("\xfe\xff"), big...)},
		"the file is UTF-32 text; save it as UTF-8":                           {wide, append([]byte("\xff\xfe\x00\x00"), wide...), append(make([]byte, 3), wide...)},
		"line 3: the file is not UTF-8 text; should be YAML or JSON in UTF-8": {[]byte("a:\r- b\rc: \xff")},
	} {
		for _, text := range texts {
			assert.Error(t, want, assert.ErrorOf(Documents(text)), text)
		}
	}
}

func TestOnly(t *testing.T) {
	d, err := Only([]byte("# c\r---\rkind: K\r"), "K")
	assert.True(t, err == nil && d.Line == 2, "%+v, %v", d, err)
	for text, want := range map[string]string{
		"# c\n":        "is empty: should be a K, with apiVersion and kind",
		"a: 1\r---\rb": "has several documents: should be one K",
	} {
		assert.Error(t, want, assert.ErrorOf(Only([]byte(text), "K")), text)
	}
}

func TestHint(t *testing.T) {
	for text, want := range map[string]string{
		"plain text": "", "图像": "",
		"a\u00a0b": "it has a no-break space (U+00A0): use plain spaces",
		"\u200bab": "it has the invisible character U+200B: use plain spaces",
		"“nginx”":  `it has typographic quotes: use " or '`,
		"{{ a }}":  wantRendered, "$A": wantReplaced,
	} {
		assert.Equal(t, want, Hint(text), "%q", text)
	}
	document := Document{Line: 3, Text: []byte("a:\n\u00a0\u00a0b: 1\n  c: 2\n")}
	err := yaml.Unmarshal(document.Text, &yaml.Node{})
	got := document.Find(err).Error()
	assert.True(t, got == "line 4: YAML syntax: a no-break space (U+00A0) stands in the indentation; indent with plain spaces", "%v", got)
}

// FuzzDocuments wants that a file has the documents, on the lines, that the YAML package finds in the whole of it. Byte
// order marks inside of a file, which that does not take for the start of a document, are left out.
func FuzzDocuments(f *testing.F) {
	for _, text := range []string{two, "%YAML 1.1\n---\n# c\n--- a\n...\n", "a\r---\rb\u2028---\u2029c\u0085...\u0085d", "\ufeff- |\n ---\n--- \"x\n y\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		documents, problem := Documents(file)
		whole, err := decodeAll(bytes.TrimPrefix(file, []byte(byteOrderMark)), 0)
		if err != nil || problem != nil || bytes.Contains(file[min(3, len(file)):], []byte(byteOrderMark)) || len(documents) > 0 && documents[0].JSON {
			return
		}
		var parts []*yaml.Node
		for _, d := range documents {
			part, err := decodeAll(d.Text, d.Line-1)
			assert.Require(t, err == nil, "%q as a part of %q: %v", d.Text, file, err)
			parts = append(parts, part...)
		}
		diff := cmp.Diff(whole, parts)
		assert.True(t, diff == "", "%q: whole - parts +:\n%s", file, diff)
	})
}

// decodeAll are the documents of text that begins after the given line, those of nothing but comments left out.
func decodeAll(text []byte, line int) (nodes []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		node := &yaml.Node{}
		if err := decoder.Decode(node); errors.Is(err, io.EOF) {
			return nodes, nil
		} else if err != nil {
			return nil, err
		}
		if len(node.Content) == 1 && node.Content[0].Kind == yaml.ScalarNode && node.Content[0].Tag == "!!null" && node.Content[0].Value == "" {
			continue
		}
		plain(node, line)
		nodes = append(nodes, node)
	}
}

// plain shifts the lines of a node, and leaves out its comments and what aliases stand for.
func plain(node *yaml.Node, line int) {
	node.Line += line
	node.HeadComment, node.LineComment, node.FootComment, node.Alias = "", "", "", nil
	for _, child := range node.Content {
		plain(child, line)
	}
}
