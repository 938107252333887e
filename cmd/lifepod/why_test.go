package main

import (
	"fmt"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/timeline"
)

// TestWhyGroupFlags: what does not go together with --group is refused, and a namespace may stand before the name.
func TestWhyGroupFlags(t *testing.T) {
	for _, test := range []struct {
		flags whyFlags
		args  []string
		want  string // the error, or the namespace and the name
	}{
		{whyFlags{group: timeline.ChosenGroup{Name: "train"}}, nil, " train"},
		{whyFlags{group: timeline.ChosenGroup{Name: "ml/train"}}, nil, "ml train"},
		{whyFlags{group: timeline.ChosenGroup{Name: "ml/train"}, wanted: timeline.Wanted{Namespace: "ml"}}, nil, "ml train"},
		{whyFlags{group: timeline.ChosenGroup{Name: "ml/train"}, wanted: timeline.Wanted{Namespace: "web"}}, nil, `group ml/train is not in namespace "web": leave -n out`},
		{whyFlags{group: timeline.ChosenGroup{Name: "ml/"}}, nil, "--group ml/: want NAME or NAMESPACE/NAME"},
		{whyFlags{group: timeline.ChosenGroup{Name: "/train"}}, nil, "--group /train: want NAME or NAMESPACE/NAME"},
		{whyFlags{group: timeline.ChosenGroup{Name: "train"}}, []string{"pod"}, "--group excludes the name of a pod and -l"},
		{whyFlags{group: timeline.ChosenGroup{Name: "train"}, wanted: timeline.Wanted{Labels: "a=b"}}, nil, "--group excludes the name of a pod and -l"},
		{whyFlags{group: timeline.ChosenGroup{Name: "train"}, rule: true}, nil, "--rule is about pods: of a group there is none to quote"},
	} {
		f := test.flags
		err := f.check(test.args)
		got := f.wanted.Namespace + " " + f.group.Name
		if err != nil {
			got = err.Error()
		}
		assert.Deep(t, fmt.Sprintf("%+v %v", test.flags, test.args), test.want, got)
	}
}
