package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

func recorded(h http.Handler, path string) string {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return fmt.Sprintf("%d %s", answer.Code, answer.Body)
}

// TestFolder: no link leads out of it, and nothing in it holds a reader up.
func TestFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{outside + "/secret": "secret", dir + "/a.log": "hello"} {
		assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	up, err := filepath.Rel(dir, outside+"/secret")
	assert.Must(t, err)
	for link, to := range map[string]string{"absolute": dir + "/a.log", "relative": "a.log", "out": outside + "/secret", "outdir": outside, "up": up} {
		assert.Must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	assert.Must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	files := SystemLogHandler(dir, false)
	for path, want := range map[string]string{
		"a.log": "200 hello", "absolute": "200 hello", "relative": "200 hello",
		"out": "403 403 Forbidden\n", "outdir/secret": "403 403 Forbidden\n", "up": "403 403 Forbidden\n", "pipe": "403 403 Forbidden\n",
		"none": "404 404 page not found\n", "a.log?query=x": "200 hello", // A-NODE-1: queries are off
	} {
		assert.Deep(t, path, want, recorded(files, "/logs/"+path))
	}
	if got := recorded(files, "/logs/"); !strings.Contains(got, `<a href="a.log">`) {
		t.Errorf("the folder: %s", got)
	}
}
