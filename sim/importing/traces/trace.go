package traces

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tinylib/msgp/msgp"
	"k8s.io/apimachinery/pkg/util/validation"
)

// version is that of the format, of SimKube 2.
const version = 2

// trace is what is imported of one.
type trace struct {
	templates map[string][]string // where objects of a kind have their pod templates, if the tracer was told
	events    []event             // by their times
	owners    map[owner]*lives
	last      map[owner]map[string]any // objects as they were applied last
	unknown   []string                 // fields that the format has not
}

// event is what happened to objects at a time.
type event struct {
	second           int64 // Unix time
	applied, deleted []map[string]any
}

// owner is what a pod belongs to, or the pod itself if it belongs to nothing.
type owner struct{ gvk, namespace, name string }

func (o owner) kind() string { return o.gvk[strings.LastIndex(o.gvk, ".")+1:] }

func (o owner) String() string { return o.kind() + " " + o.namespace + "/" + o.name }

// lives are those of an owner's pods.
type lives struct {
	ended     []int64 // how long each took, in seconds
	running   int     // pods that had not ended with the trace
	templates int     // how many pod templates they are of
}

// Is says whether a file looks like a trace: it is a map in MessagePack, which no text begins with.
func Is(data []byte) bool { return len(data) > 0 && msgp.NextType(data) == msgp.MapType }

// parse reads a trace. An error says where in the file it is.
func parse(data []byte) (*trace, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the trace is larger than %d MiB", MaxBytes>>20)
	}
	d := &decoder{rest: data}
	t := &trace{templates: map[string][]string{}, owners: map[owner]*lives{}, last: map[owner]map[string]any{}}
	err := t.parse(d)
	if err == nil && len(d.rest) > 0 {
		err = errors.New("there is more in the file than one trace")
	}
	if err != nil {
		return nil, fmt.Errorf("trace of SimKube: byte %d: %w", len(data)-len(d.rest), err)
	}
	slices.SortStableFunc(t.events, func(a, b event) int { return cmp.Compare(a.second, b.second) })
	for i := range t.events {
		for _, object := range t.events[i].applied {
			t.last[ownerOf(object)] = object
		}
	}
	return t, nil
}

func (t *trace) parse(d *decoder) error {
	missing := map[string]bool{"version": true, "config": true, "events": true, "index": true, "pod_lifecycles": true}
	err := d.fields(func(key string) error {
		delete(missing, key)
		switch key {
		case "version":
			return checkVersion(d)
		case "config":
			return t.config(d)
		case "events":
			return d.list(func() error { return t.event(d) })
		case "pod_lifecycles":
			return d.entries(func() error { return t.lifecycles(d) })
		case "index":
		default:
			t.unknown = append(t.unknown, key)
		}
		_, err := d.value(0)
		return err
	})
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("no %s: want a trace of version %d, as SimKube 2 writes it", strings.Join(slices.Sorted(maps.Keys(missing)), ", "), version)
	}
	return err
}

func checkVersion(d *decoder) error {
	is, err := d.number()
	if err == nil && is != version {
		err = fmt.Errorf("version %d: want version %d, as SimKube 2 writes it", is, version)
	}
	return err
}

// config has what the tracer was told of each kind; where pod templates are is needed.
func (t *trace) config(d *decoder) error {
	config, err := d.object(0)
	if err != nil {
		return err
	}
	tracked, _ := config["trackedObjects"].(map[string]any)
	for gvk, of := range tracked {
		says, _ := of.(map[string]any)
		paths, _ := says["podSpecTemplatePaths"].([]any)
		for _, path := range append(paths, says["podSpecTemplatePath"]) {
			if path, is := path.(string); is {
				t.templates[gvk] = append(t.templates[gvk], path)
			}
		}
	}
	return nil
}

func (t *trace) event(d *decoder) error {
	var e event
	objects := func(into *[]map[string]any) error {
		return d.list(func() error {
			object, err := d.object(0)
			if err == nil {
				err = checkObject(object)
			}
			*into = append(*into, object)
			return err
		})
	}
	timed := false
	err := d.fields(func(key string) (err error) {
		switch key {
		case "ts":
			timed = true
			e.second, err = d.number()
		case "applied_objs":
			err = objects(&e.applied)
		case "deleted_objs":
			err = objects(&e.deleted)
		default:
			err = fmt.Errorf("an event has the unknown field %q", key)
		}
		return err
	})
	if err == nil && !timed {
		err = errors.New("an event has no ts")
	}
	t.events = append(t.events, e)
	return err
}

func checkObject(object map[string]any) error {
	of, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	meta, _ := object["metadata"].(map[string]any)
	if name, _ := meta["name"].(string); of == "" || kind == "" || name == "" {
		return errors.New("an object without apiVersion, kind or metadata.name")
	}
	return nil
}

// lifecycles are those of one owner's pods, by the hash of their template.
func (t *trace) lifecycles(d *decoder) error {
	var key []string
	err := d.list(func() error {
		part, err := d.text()
		key = append(key, part)
		return err
	})
	if err != nil {
		return err
	}
	if len(key) != 2 {
		return errors.New("pod_lifecycles: want a kind and a name for the owner of pods")
	}
	namespace, name, _ := strings.Cut(key[1], "/")
	of := owner{key[0], namespace, name}
	if !strings.Contains(of.gvk, ".") || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("pod_lifecycles: %q of kind %q: want NAMESPACE/NAME and GROUP/VERSION.KIND", key[1], key[0])
	}
	l := &lives{}
	t.owners[of] = l
	return d.entries(func() error {
		l.templates++
		if _, err := read(d, "the hash of a pod template", msgp.ReadUint64Bytes); err != nil {
			return err
		}
		return d.list(func() error { return l.lifecycle(d) })
	})
}

// lifecycle is that of a pod: Empty, Running since a second, or Finished, from one to another.
func (l *lives) lifecycle(d *decoder) error {
	if d.is(msgp.StrType) {
		state, err := d.text()
		if err == nil && state != "Empty" {
			err = fmt.Errorf("pod_lifecycles: unknown state %q; want Empty, Running or Finished", state)
		}
		return err
	}
	return d.fields(func(state string) error {
		switch state {
		case "Running":
			l.running++
			_, err := d.number()
			return err
		case "Finished":
			var at []int64
			err := d.list(func() error {
				second, err := d.number()
				at = append(at, second)
				return err
			})
			if err == nil && (len(at) != 2 || at[0] < 0 || at[1] < at[0] || at[1]-at[0] > longest) {
				err = fmt.Errorf("pod_lifecycles: a pod finished at %v: want the second of its start and one of its end after it", at)
			}
			if err == nil {
				l.ended = append(l.ended, at[1]-at[0])
			}
			return err
		}
		return fmt.Errorf("pod_lifecycles: unknown state %q; want Empty, Running or Finished", state)
	})
}
