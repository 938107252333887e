package file

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/scenario"
)

func (c *checker) images(s *scenario.Scenario) {
	var used []use
	if c.pod != nil {
		used = usesOf(c.pod, s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Images)) {
		path, i := "images["+name+"]", s.Images[name]
		if i == (scenario.Image{}) {
			c.report(path, "should say present, pull, bytes or failures", saysNothing)
		}
		c.notNegative(path+".failures", int64(i.Failures))
		if i.Bytes != nil {
			c.notNegative(path+".bytes", *i.Bytes)
		}
		if i.Error != "" && i.Failures == 0 {
			c.report(path+".error", "should be with failures, which is how many pulls fail", "no pull fails")
		}
		if c.pod != nil {
			c.used(path, name, &i, used)
		}
	}
}

// used holds what a scenario says of an image against how the pod uses it.
func (c *checker) used(path, name string, i *scenario.Image, by []use) {
	var names []string
	known, pulled := false, false
	for _, u := range by {
		names = append(names, u.image)
		if u.image == name {
			known = true
			pulled = pulled || u.policy == v1.PullAlways || u.policy == v1.PullIfNotPresent && !i.IsPresent(name)
		}
	}
	var field string
	switch {
	case !known:
		c.unknown(path, "image", name, slices.Compact(names))
		return
	case pulled:
		return
	case i.Failures > 0:
		field = ".failures"
	case i.Pull != nil:
		field = ".pull"
	default:
		return
	}
	if i.IsPresent(name) {
		c.report(path+field, "should be with present: false, or be of a pod with imagePullPolicy: Always", "nobody pulls an image that is present")
		return
	}
	c.report(path+field, "", "nobody pulls it: the pod's imagePullPolicy is Never")
}

// use is an image that a container or a volume uses.
type use struct {
	image  string
	policy v1.PullPolicy
}

func usesOf(pod *v1.Pod, s *scenario.Scenario) (list []use) {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		list = append(list, use{c.Image, c.ImagePullPolicy})
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			list = append(list, use{v.Image.Reference, v.Image.PullPolicy})
		}
	}
	for _, e := range s.Events {
		if e.AddContainer != nil {
			added := e.AddContainer.Container()
			list = append(list, use{added.Image, added.ImagePullPolicy})
		}
	}
	return list
}
