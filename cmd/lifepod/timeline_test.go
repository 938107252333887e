package main

import (
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/timeline"
)

func TestTimelineCheck(t *testing.T) {
	command := &cobra.Command{Use: "timeline POD…"}
	pods := func(names ...string) timeline.Wanted { return timeline.Wanted{Names: names} }
	for _, test := range []struct {
		flags timelineFlags
		want  string
	}{
		{timelineFlags{wanted: pods("a")}, ""},
		{timelineFlags{wanted: pods("a", "b"), output: "html"}, ""},
		{timelineFlags{wanted: pods("a", "b"), diff: true, output: "json"}, ""},
		{timelineFlags{}, "want a pod, -l or --group: timeline POD…"},
		{timelineFlags{group: timeline.ChosenGroup{Name: "ml/train"}}, ""},
		{timelineFlags{group: timeline.ChosenGroup{Name: "/train"}}, "--group /train: want NAME or NAMESPACE/NAME"},
		{timelineFlags{group: timeline.ChosenGroup{Name: "train"}, wanted: pods("a")}, "--group excludes names of pods and -l"},
		{timelineFlags{group: timeline.ChosenGroup{Name: "train"}, diff: true}, "--group and --diff exclude each other"},
		{timelineFlags{group: timeline.ChosenGroup{Name: "train"}, attempts: -1}, "--rounds -1: want 0 or more"},
		{timelineFlags{wanted: timeline.Wanted{Names: []string{"a"}, Labels: "app=a"}}, "names of pods and -l exclude each other"},
		{timelineFlags{wanted: pods("a"), diff: true}, "--diff wants two pods"},
		{timelineFlags{wanted: pods("a", "b"), diff: true, output: "svg"}, "--diff and -o svg exclude each other: there is -o json"},
		{timelineFlags{wanted: pods("a"), output: "png"}, `unknown output "png": want json, svg, html or otlp`},
	} {
		got := ""
		if err := test.flags.check(command); err != nil {
			got = err.Error()
		}
		assert.Deep(t, fmt.Sprintf("%+v", test.flags), test.want, got)
	}
}
