package server

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// machine has logs in a folder, and a journalctl that knows a.service and b.service and
// prints what it is asked for.
func machine(t *testing.T) http.Handler {
	t.Helper()
	bin, dir := t.TempDir(), t.TempDir()
	program := "#!/bin/sh\n[ \"$1\" = --field ] && { echo a.service; echo b.service; exit; }\nprintf '%s|' \"$@\"\n"
	assert.Must(t, os.WriteFile(filepath.Join(bin, journalProgram), []byte(program), 0o755))
	for name, text := range map[string]string{"app": "plain", "web.log": "with a suffix", "db/db.log": "in a folder", "deep/x.log": "a file"} {
		path := filepath.Join(dir, name)
		assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return SystemLogHandler(dir, true)
}

func TestQueries(t *testing.T) {
	const fixed = "--utc|--no-pager|--output=short-precise|"
	h := machine(t)
	for at, want := range map[string]string{
		// A-NODE-2: what is asked for
		"?query=%20": `400 query: Invalid value: [" "]: may not be empty`, "?query=": `400 query: Invalid value: [""]: may not be empty`,
		"?query=a&sinceTime=now&untilTime=then": `400 [sinceTime: Invalid value: "now": invalid time format, untilTime: Invalid value: "then": invalid time format]`,
		"?query=a&tailLines=x":                  `400 tailLines: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax`,
		"?query=a&boot=x":                       `400 boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax`,
		"app?query=a":                           "406 path not allowed in query mode", "app": "200 plain", "app?other=x": "200 plain",
		// A-NODE-3: what is valid
		"?tailLines=1":                             "406 query: Required value: cannot be empty with options",
		"?query=a&query=deep/x":                    `406 query: Invalid value: "[deep/x], [a]": cannot specify a file and service`,
		"?query=/a&query=/b":                       `406 query: Invalid value: ["/a","/b"]: cannot specify more than one file`,
		"?query=/app&boot=0":                       `406 query: Invalid value: ["/app"]: cannot specify file with options`,
		"?query=/none":                             `406 query: Invalid value: ["/none"]: statat /none: no such file or directory`,
		"?query=/../../etc/passwd":                 `406 query: Invalid value: ["/../../etc/passwd"]: statat /../../etc/passwd: no such file or directory`,
		"?query=a%3Bb":                             `406 query: Invalid value: "a;b": input contains unsupported characters`,
		"?query=" + strings.Repeat("a", 257):       `406 query: Invalid value: "` + strings.Repeat("a", 257) + `": length must be less than 256`,
		"?query=a&query=b&query=c&query=d&query=e": "406 query: Too many: 5: must have at most 4 items",
		"?query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z": `406 untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after ` + "`sinceTime`",
		"?query=a&boot=1":           "406 boot: Invalid value: 1: must be less than 1",
		"?query=a&tailLines=100001": "406 tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive",
		"?query=a&pattern=(":        `406 pattern: Invalid value: "(": error parsing regexp: missing closing ): ` + "`(`",
		"?query=/deep/x.log":        "200 a file", "?query=deep%5Cx.log": "200 a file",
		// A-NODE-4: what the journal is asked for
		"?query=a": "200 " + fixed + "--unit=a|", "?query=a&query=b": "200 " + fixed + "--unit=a|--unit=b|",
		"?query=a&sinceTime=2026-01-02T03:04:05%2B02:00&untilTime=2026-02-03T00:00:00Z&tailLines=7&pattern=x.y&boot=-1": "200 " + fixed +
			"--since=2026-01-02 01:04:05 UTC|--until=2026-02-03 00:00:00 UTC|--pager-end|--lines=7|--unit=a|--grep=x.y|--boot|-1|",
		// A-NODE-5: what is in files
		"?query=app": "200 plain", "?query=web": "200 with a suffix", "?query=db": "200 in a folder", "?query=none": "200 \nlog not found for none",
		"?query=app&query=a": "200 " + fixed + "--unit=a|plain",
		"?query=app&boot=0":  "200 \noptions present and query resolved to log files for [app]\ntry without specifying options",
	} {
		assert.Deep(t, fmt.Sprintf("A-NODE %s", at), want, strings.TrimSuffix(recorded(h, "/logs/"+at), "\n"))
	}
}

// TestWithoutJournal: A-NODE-5, every service is a file.
func TestWithoutJournal(t *testing.T) {
	h := machine(t)
	t.Setenv("PATH", t.TempDir())
	got, want := recorded(h, "/logs/?query=app"), "200 plain"
	assert.True(t, got == want, "%q, want %q", got, want)
	got, want = recorded(h, "/logs/?query=a"), "200 \nlog not found for a\n"
	assert.True(t, got == want, "%q, want %q", got, want)
}

// TestJournalFails: A-NODE-4, what goes wrong is a line of the answer.
func TestJournalFails(t *testing.T) {
	machine(t)
	var out strings.Builder
	t.Setenv("PATH", t.TempDir())
	copyJournal(t.Context(), &out, []string{"a"}, filter{})
	got, want := out.String(), "\nerror: journal output not available\n"
	assert.True(t, got == want, "%q, want %q", got, want)
}

// TestPacked: A-NODE-4, whoever takes gzip gets it.
func TestPacked(t *testing.T) {
	h := machine(t)
	asked := httptest.NewRequest(http.MethodGet, (&url.URL{Path: "/logs/", RawQuery: "query=app"}).String(), nil)
	asked.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, asked)
	unpacked := assert.Get(gzip.NewReader(answer.Body)).Must(t)
	text, err := io.ReadAll(unpacked)
	got := fmt.Sprintf("%s %s %v", answer.Header().Get("Content-Encoding"), text, err)
	assert.True(t, got == "gzip plain <nil>", "%s", got)
}

// FuzzRequest: whatever path and query are asked for, the node's API answers, and never with a file that is not of a log.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/containerLogs/default/web/main", "tailLines=-1&limitBytes=0&sinceSeconds=x"}, {"POST", "/exec/default/db/main", "command=x&output=1"},
		{"GET", "/containerLogs/default/../../secret", "follow=1"}, {"GET", "/journal/..%2f..%2fsecret", ""}, {"POST", "/run/a/b/c/d", "cmd=%00"},
		{"POST", "/portForward/default/db", "port=65536"}, {"GET", "/pods", "x=%zz"}, {"PUT", "//checkpoint//a", ""}, {"GET", "/configz", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, query string) {
		if strings.Contains(path, "web") && !strings.HasPrefix(path, "/containerLogs/") {
			return // nothing runs here
		}
		if strings.HasPrefix(path, "/debug/") || strings.HasPrefix(path, "/logs/") || strings.Contains(query, "follow") {
			return // profiles take their time; /logs are the machine's, and have tests of their own
		}
		dir := t.TempDir()
		const secret = "SECRET-OF-THE-MACHINE"
		assert.Must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600))
		node := &fakeNode{logs: filepath.Join(dir, "logs", "x")}
		node.set(testPod(runningStatus(0)))
		c := testConfig(t, node)
		c.Folders.Journal = filepath.Join(dir, "journal")
		s := assert.Get(New(c)).Must(t)
		answer := httptest.NewRecorder()
		request := (&http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}, Body: http.NoBody, Proto: "HTTP/1.1", RemoteAddr: "127.0.0.1:1"}).WithContext(t.Context())
		s.guard.protect(s.routes()).ServeHTTP(answer, request)
		assert.Require(t, answer.Code >= 200 && !strings.Contains(answer.Body.String(), secret),
			"%s %q?%q: %d %s", method, path, query, answer.Code, answer.Body)
	})
}
