package main

import (
	"testing"

	"github.com/lifepod/lifepod/timeline/choose"
)

// TestWhyGroupFlags: what does not go together with --group is refused, and a namespace may stand before the name.
func TestWhyGroupFlags(t *testing.T) {
	for _, test := range []struct {
		flags whyFlags
		args  []string
		want  string // the error, or the namespace and the name
	}{
		{whyFlags{group: choose.Group{Name: "train"}}, nil, " train"},
		{whyFlags{group: choose.Group{Name: "ml/train"}}, nil, "ml train"},
		{whyFlags{group: choose.Group{Name: "ml/train"}, wanted: choose.Wanted{Namespace: "ml"}}, nil, "ml train"},
		{whyFlags{group: choose.Group{Name: "ml/train"}, wanted: choose.Wanted{Namespace: "web"}}, nil, `group ml/train is not in namespace "web": leave -n out`},
		{whyFlags{group: choose.Group{Name: "ml/"}}, nil, "--group ml/: want NAME or NAMESPACE/NAME"},
		{whyFlags{group: choose.Group{Name: "/train"}}, nil, "--group /train: want NAME or NAMESPACE/NAME"},
		{whyFlags{group: choose.Group{Name: "train"}}, []string{"pod"}, "--group excludes the name of a pod and -l"},
		{whyFlags{group: choose.Group{Name: "train"}, wanted: choose.Wanted{Labels: "a=b"}}, nil, "--group excludes the name of a pod and -l"},
		{whyFlags{group: choose.Group{Name: "train"}, rule: true}, nil, "--rule is about pods: of a group there is none to quote"},
	} {
		f := test.flags
		err := f.check(test.args)
		got := f.wanted.Namespace + " " + f.group.Name
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v %v: %s, want %s", test.flags, test.args, got, test.want)
		}
	}
}
