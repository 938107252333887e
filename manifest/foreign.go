package manifest

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind is a kind of document that is none of Kubernetes', such as a scenario of lifepod sim.
type Kind struct {
	APIVersion, Name string
}

// Report files a problem of a field, by its path: containers[main].runs[0].exit. want says
// what would be right; empty if the problem says it already.
type Report func(field, want, format string, args ...any)

// ReadKind reads a file with one document of a kind into a value, as strictly as manifests,
// and with the same errors. Fields whose JSON tags have no options are required. check says what
// else is wrong; it may be nil.
func ReadKind(s Source, kind Kind, into any, check func(Report)) error {
	in := &input{sources: []Source{s}}
	documents, problem := split(s)
	switch {
	case problem != nil:
		return problem
	case len(documents) != 1:
		return &Error{File: s.Name, Problem: fmt.Sprintf("has %d documents", len(documents)), Want: "there should be one of kind: " + kind.Name}
	}
	p, errs := parse(documents[0])
	if errs != nil {
		in.errs = errs
		return in.failure()
	}
	if p == nil {
		return &Error{File: s.Name, Problem: "there is nothing in it", Want: "there should be one document of kind: " + kind.Name}
	}
	o := &object{document: p, value: p.value}
	if err := o.is(kind); err != nil {
		return err
	}
	in.errs = o.decodeOwn(into)
	if in.errs == nil && check != nil {
		check(func(field, want, format string, args ...any) {
			in.errs = append(in.errs, o.errorf(field, want, format, args...))
		})
		slices.SortStableFunc(in.errs, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	}
	if in.errs != nil {
		return in.failure()
	}
	return nil
}

// is refuses a document of another kind or version. The nil is that of an interface.
func (o *object) is(kind Kind) error {
	if o.kind, _ = o.value["kind"].(string); o.kind != kind.Name {
		return o.errorf("kind", "should be "+kind.Name, "is %s", o.describeKind())
	}
	if err := o.wantVersion(kind.APIVersion); err != nil {
		return err
	}
	return nil
}

func (o *object) describeKind() string {
	v := o.value["kind"]
	if text, is := v.(string); is {
		return text
	}
	if v == nil {
		return "missing"
	}
	return o.describe("kind", v)
}
