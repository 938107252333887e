package controlplane

import (
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestComplaintsIn(t *testing.T) {
	log := `I1120 18:02:15.193188   20840 controller.go:667] quota admission added
E1120 18:17:48.930216   20293 schedule_one.go:298] "first"
{"level":"info","ts":"2026-11-20T18:17:39.720598Z"}
{"level":"warn","ts":"2026-11-20T18:17:39.720598Z"}
W1120 ` + strings.Repeat("x", 1000) + `
panic: last
`
	got := complaintsIn([]byte(log), 3)
	want := []string{`{"level":"warn","ts":"2026-11-20T18:17:39.720598Z"}`, "W1120 " + strings.Repeat("x", complaintBytes-6), "panic: last"}
	assert.Deep(t, "complaints", want, got)
}
