package file

import (
	"errors"
	"reflect"
	"strings"

	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario"
)

func (c *checker) event(path string, e *scenario.Event) {
	if e.At.Forever() {
		c.report(path+".at", "should be a time that comes", "never comes")
	}
	value, happens := reflect.ValueOf(e).Elem(), 0
	for i := range value.NumField() {
		if value.Type().Field(i).Name != "At" && !value.Field(i).IsNil() {
			happens++
		}
	}
	if happens != 1 {
		c.report(path, "should say one thing, such as delete: {}", "says %d things that happen", happens)
	}
	c.asked(path, e)
	if e.Resize != nil {
		c.resize(path+".resize", e.Resize)
	}
	if e.AddContainer != nil && c.pod != nil {
		c.add(path+".addContainer", e.AddContainer)
	}
}

// asked is what somebody asks for of a pod as it is.
func (c *checker) asked(path string, e *scenario.Event) {
	if e.Delete != nil && e.Delete.GraceSeconds != nil {
		c.notNegative(path+".delete.graceSeconds", *e.Delete.GraceSeconds)
	}
	if e.Evict != nil && e.Evict.GraceSeconds != nil {
		c.notNegative(path+".evict.graceSeconds", *e.Evict.GraceSeconds)
	}
	if e.SetClock != nil && e.SetClock.By == 0 {
		c.report(path+".setClock.by", "should be how far, such as 1h or -30s", "does not change the clock")
	}
	if e.Restart != nil && e.Restart.Container != "" && c.specOf(e.Restart.Container) == nil {
		c.unknown(path+".restart.container", "container", e.Restart.Container, c.containers())
	}
}

// addedFields are the fields of an ephemeral container, and what says them here.
var addedFields = map[string]string{"name": ".name", "image": ".image", "targetContainerName": ".target"}

// add holds an ephemeral container against what an API server takes (A-ACT-5), beside those that were added before.
func (c *checker) add(path string, a *scenario.Added) {
	if a.Target != "" && specIn(c.pod, a.Target) == nil {
		c.unknown(path+".target", "container", a.Target, namesIn(c.pod))
	}
	next, err := manifest.WithEphemeralContainer(c.changed(), a.Container())
	if refused, is := errors.AsType[*manifest.Error](err); is {
		for _, e := range append([]*manifest.Error{refused}, refused.Also...) {
			c.report(path+addedFields[e.Field[strings.LastIndex(e.Field, ".")+1:]], e.Want, "%s", e.Problem)
		}
		return
	}
	c.now = next
}
