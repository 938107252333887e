package main

import (
	"fmt"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestCopyArguments(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"web:/a", "b", "web /a b true"},
		{"a", "shop/web:b", "shop/web a b false"},
		{"./a:b", "pod/web:c:d", "pod/web ./a:b c:d false"},
		{"a", "b", `"a" and "b": one must be a path in a container, POD:PATH, and the other one of this machine (with ./ in front, if it has a colon)`},
		{"a:b", "c:d", `"a:b" and "c:d": one must be a path in a container, POD:PATH, and the other one of this machine (with ./ in front, if it has a colon)`},
		{":a", "b", `":a": want POD:PATH, such as web:/etc/hosts`},
		{"web:", "b", `"web:": want POD:PATH, such as web:/etc/hosts`},
		{"web:/a", "-", "cp - is not known: lifepod exec POD -- cat FILE writes a file to standard output"},
	} {
		pod, paths, out, err := copyArguments([]string{tc.from, tc.to})
		got := fmt.Sprint(pod, " ", paths[0], " ", paths[1], " ", out)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, tc.want, got, "cp %s %s", tc.from, tc.to)
	}
}
