package traces

import (
	"errors"
	"fmt"

	"github.com/tinylib/msgp/msgp"
)

// Limits of a trace, so that no file takes all memory.
const (
	MaxBytes  = 128 << 20
	maxValues = 8_000_000
	maxDepth  = 100
)

// decoder reads MessagePack. It allocates for what the file has, never for what a header promises.
type decoder struct {
	rest   []byte
	values int
}

var (
	errTruncated = errors.New("the file is truncated")
	errTooMany   = fmt.Errorf("the trace has more than %d values", maxValues)
	errTooDeep   = fmt.Errorf("values are nested more than %d deep", maxDepth)
)

// wrong says what stands in the file, and what is wanted.
func wrong(want string, rest []byte) error {
	if len(rest) == 0 {
		return errTruncated
	}
	return fmt.Errorf("MessagePack: want %s, not %v", want, msgp.NextType(rest))
}

// read reads one value by a function of msgp.
func read[T any](d *decoder, want string, by func([]byte) (T, []byte, error)) (T, error) {
	if d.values++; d.values > maxValues {
		var none T
		return none, errTooMany
	}
	value, rest, err := by(d.rest)
	switch {
	case errors.Is(err, msgp.ErrShortBytes):
		return value, errTruncated
	case err != nil:
		return value, wrong(want, d.rest)
	}
	d.rest = rest
	return value, nil
}

func (d *decoder) text() (string, error) { return read(d, "a string", msgp.ReadStringBytes) }

func (d *decoder) number() (int64, error) { return read(d, "an integer", msgp.ReadInt64Bytes) }

func (d *decoder) is(t msgp.Type) bool { return msgp.NextType(d.rest) == t }

// list calls a function for each item of an array, which reads it.
func (d *decoder) list(item func() error) error {
	n, err := read(d, "an array", msgp.ReadArrayHeaderBytes)
	for i := uint32(0); i < n && err == nil; i++ {
		err = item()
	}
	return err
}

// entries calls a function for each entry of a map, which reads its key and its value.
func (d *decoder) entries(entry func() error) error {
	n, err := read(d, "a map", msgp.ReadMapHeaderBytes)
	for i := uint32(0); i < n && err == nil; i++ {
		err = entry()
	}
	return err
}

// fields calls a function for each entry of a map with the key, which reads the value.
func (d *decoder) fields(value func(key string) error) error {
	return d.entries(func() error {
		key, err := d.text()
		if err != nil {
			return err
		}
		return value(key)
	})
}

// object is a map as of JSON.
func (d *decoder) object(depth int) (map[string]any, error) {
	object := map[string]any{}
	err := d.fields(func(key string) (err error) {
		object[key], err = d.value(depth + 1)
		return err
	})
	return object, err
}

// value is a value as of JSON.
func (d *decoder) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch msgp.NextType(d.rest) {
	case msgp.MapType:
		return d.object(depth)
	case msgp.ArrayType:
		list := []any{}
		err := d.list(func() error {
			item, err := d.value(depth + 1)
			list = append(list, item)
			return err
		})
		return list, err
	case msgp.StrType:
		return d.text()
	case msgp.IntType:
		return d.number()
	case msgp.UintType:
		return read(d, "an integer", msgp.ReadUint64Bytes)
	case msgp.Float64Type:
		return read(d, "a number", msgp.ReadFloat64Bytes)
	case msgp.Float32Type:
		return read(d, "a number", msgp.ReadFloat32Bytes)
	case msgp.BoolType:
		return read(d, "a boolean", msgp.ReadBoolBytes)
	case msgp.NilType:
		return read(d, "nil", func(b []byte) (any, []byte, error) {
			rest, err := msgp.ReadNilBytes(b)
			return nil, rest, err
		})
	default:
		return nil, wrong("what JSON has", d.rest)
	}
}
