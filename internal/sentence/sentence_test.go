package sentence

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestSay(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{English.Say("%s failed %d of %d", "liveness probe", 3, 3), "liveness probe failed 3 of 3"},
		{Chinese.Say("%s failed %d of %d", "存活探针", 3, 3), "存活探针失败 3/3 次"},
		{English.Count(2, "pod"), "2 pods"},
		{Chinese.Count(2, "pod"), "2 个 Pod"},
		{Chinese.Say("the process %s (PID %d)", "sh", 123456), "进程 sh（PID 123456）"},
		{Chinese.Say("%s in %s", Chinese.Word("restart"), 10*time.Second), "10s 后重启"},
		{Chinese.Say("nothing says %d times %s", 12345, "this"), "nothing says 12345 times this"},
	} {
		assert.Equal(t, test.want, test.got, "said")
	}
}

func TestOfEnvironment(t *testing.T) {
	for _, test := range []struct {
		all, messages, lang string
		want                Language
	}{
		{"", "", "", English},
		{"", "", "zh_CN.UTF-8", Chinese},
		{"", "", "de_DE.UTF-8", English},
		{"", "zh_TW.UTF-8", "en_US.UTF-8", Chinese},
		{"C", "zh_CN.UTF-8", "zh_CN.UTF-8", English},
	} {
		t.Setenv("LC_ALL", test.all)
		t.Setenv("LC_MESSAGES", test.messages)
		t.Setenv("LANG", test.lang)
		assert.Equal(t, test.want, OfEnvironment(), "%v", test)
	}
}
