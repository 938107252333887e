package criconfig

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// plainError is an error that has nothing of the file but the number of a line.
var plainError = regexp.MustCompile(`^environment variable key KEY not found in file "env"$|^couldn't parse env file "env" of volume "v" for key KEY: line \d+: [a-zNAME= ]+: should be NAME='value'$`)

// FuzzEnvFile: whatever a container has put into the file, reading a key of it
// is a value that stands there, or an error that gives nothing of it away
// (A-ENV-6).
func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{
		"A='1'\nB='two\nlines' # remark\n", "# remark\n\n  A = '1'\n", "A= nothing\nB='x'", "A='1'B", "A='", "A", "='1'", "A='1'\r\nB='2'\r", "A=''\nA='x'", "\x00A='\xff'",
	} {
		f.Add(seed, "A")
		f.Add(seed, "B")
	}
	f.Fuzz(func(t *testing.T, content, key string) {
		dir := t.TempDir()
		assert.Must(t, os.WriteFile(filepath.Join(dir, "env"), []byte(content), 0o600))
		b := &builder{EnvironmentInput: EnvironmentInput{VolumePath: func(string) (string, bool) { return dir, true }}}
		value, found, err := b.fileKey(&v1.FileKeySelector{VolumeName: "v", Path: "env", Key: key})
		assert.Require(t, !found || err == nil && value != "" && strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), key+"='"+value+"'"),
			"%q, %v", value, err)
		if err == nil {
			return
		}
		text := strings.NewReplacer(strconv.Quote(key), "KEY").Replace(err.Error())
		assert.Require(t, plainError.MatchString(text), "the error may show what is in the file: %v", err)
	})
}

// FuzzExpand: an expansion ends, and what has no reference stays as it is (A-ENV-4).
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"$(A)", "$$(A)", "$(B)$(A", "$", "$$$$(A)", "$()", "$(A$(A))", "a$b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Expand(text, func(name string) (string, bool) { return "", name == "A" })
		assert.Require(t, strings.Contains(text, "$") || got == text, "%q becomes %q", text, got)
		assert.Require(t, len(got) <= len(text), "%q grows to %q", text, got)
	})
}
