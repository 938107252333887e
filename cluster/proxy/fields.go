package proxy

import (
	"fmt"
	"reflect"

	"k8s.io/kubernetes/pkg/proxy/nftables"
)

// Upstream's proxier has one table name for all, no end, and no way to say otherwise:
// a program has one of it until it exits. Its fields are reached by reflection here. A
// release of Kubernetes that names them otherwise fails the tests.

func get[T any](p *nftables.Proxier, name string) (T, error) {
	f, err := field[T](p, name)
	if err != nil {
		var none T
		return none, err
	}
	return *f, nil
}

func set[T any](p *nftables.Proxier, name string, value T) error {
	f, err := field[T](p, name)
	if err == nil {
		*f = value
	}
	return err
}

func field[T any](p *nftables.Proxier, name string) (*T, error) {
	f := reflect.ValueOf(p).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return nil, fmt.Errorf("service traffic: Kubernetes' nftables proxier has no field %s of type %s", name, reflect.TypeFor[T]())
	}
	return (*T)(f.Addr().UnsafePointer()), nil
}
