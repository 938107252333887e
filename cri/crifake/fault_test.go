package crifake

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/scenario"
)

func TestParseFault(t *testing.T) {
	got, err := parseFault("carry-out-late StartContainer web/main#2 times=3 by=1m code=Internal message=it_broke")
	assert.Require(t, err == nil, "%v", err)
	want := &fault{
		verb: late, what: "StartContainer", subject: "web/main", nth: 2, times: 3, by: time.Minute,
		err: status.Error(codes.Internal, "it broke"),
	}
	assert.Deep(t, "fault", want, got, cmp.AllowUnexported(fault{}), cmpopts.EquateErrors())
	for _, text := range []string{
		"", "hang", "explode X", "hang X a b", "hang X a#b", "fail X code=Nope", "slow X by=soon", "lose X times=many", "lose X why=so",
	} {
		f, err := parseFault(text)
		assert.True(t, err != nil, "%q is taken as %+v", text, f)
	}
}

func TestFaultHitsTheOnesThatItNames(t *testing.T) {
	r := New()
	r.Fault("hang CreateContainer main#2 times=2", "lose STOPPED web")
	for i, test := range []struct {
		what, subject string
		hit           bool
	}{
		{"CreateContainer", "web/main", false}, // the first
		{"CreateContainer", "web/side", false},
		{"StartContainer", "web/main", false},
		{"CreateContainer", "api/main", true},
		{"CreateContainer", "web/main", true},
		{"CreateContainer", "web/main", false},
		{"STOPPED", "api/main", false},
		{"STOPPED", "web/main", true},
		{"STOPPED", "web/main", false},
	} {
		assert.Equal(t, test.hit, r.faultOf(test.what, test.subject) != nil, "%d: %s %s hit", i, test.what, test.subject)
	}
}

func TestParseProgram(t *testing.T) {
	got, err := parseProgram("exit=3 after=2s term=1s term-code=7 oom message=good_bye says=ready")
	assert.Require(t, err == nil, "%v", err)
	want := program{says: "ready", run: scenario.Run{
		Run: scenario.Fixed(2 * time.Second), Exit: new(int32(3)), OOM: true, Message: "good bye",
		Stop: &scenario.Stop{After: scenario.Fixed(time.Second), Exit: new(int32(7))},
	}}
	assert.Deep(t, "program", want, got, cmp.AllowUnexported(program{}, scenario.Span{}))
	for _, text := range []string{"jump", "exit=", "after=soon", "term=never", "term-code=x"} {
		p, err := parseProgram(text)
		assert.True(t, err != nil, "%q is taken as %+v", text, p)
	}
}
