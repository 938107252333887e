package client

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

type fakeFiles map[string]string

func (f fakeFiles) ReadFile(path string) ([]byte, error) {
	if text, has := f[path]; has {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func TestUserOf(t *testing.T) {
	full := fakeFiles{
		"/etc/passwd": "root:x:0:0::/root:/bin/sh\n# comment\nbroken:x:one:2:::\nweb:x:33:44::/:\nx:y\n33x:x:99999999999:1:::\n",
		"/etc/group":  "root:x:0:\nwww:x:44:\nlog:x:55:adm,web\n\xff:x:x:web\n",
	}
	for _, tc := range []struct {
		files fakeFiles
		user  string
		want  string
	}{
		{full, "web", "{33 44 [55]}"},
		{full, "33", "{33 44 [55]}"},
		{full, "web:log", "{33 55 []}"},
		{full, "web:7", "{33 7 []}"},
		{full, "1000", "{1000 0 []}"},
		{fakeFiles{}, "1000:7", "{1000 7 []}"},
		{full, "broken", `the container's /etc/passwd has no user "broken": want one of its, or a number`},
		{full, "-1", `the container's /etc/passwd has no user "-1": want one of its, or a number`},
		{full, "web:none", `the container's /etc/group has no group "none": want one of its, or a number`},
		{full, "web:", `"web:" is no user: want USER[:GROUP], by name or number`},
		{full, ":log", `":log" is no user: want USER[:GROUP], by name or number`},
		{fakeFiles{}, "web", `user "web": open /etc/passwd: file does not exist`},
		{fakeFiles{}, "1:log", `group "log": open /etc/group: file does not exist`},
	} {
		who, err := userOf(tc.files, tc.user)
		got := fmt.Sprint(who)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, tc.want, got, "%s", tc.user)
	}
}

func TestProcessLike(t *testing.T) {
	got := assert.Get(processLike([]byte(`{"process": {"user": {"uid": 1}, "args": ["a"], "cwd": "/w", "rlimits": [{"hard": 18446744073709551615}]}}`), account{UID: 7, GID: 8, Groups: []uint32{9}}, []string{"sh"}, true)).Must(t)
	assert.Deep(t, "process", `{"args":["sh"],"cwd":"/w","rlimits":[{"hard":18446744073709551615}],"terminal":true,"user":{"uid":7,"gid":8,"additionalGids":[9]}}`, string(got))
}
