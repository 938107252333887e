package node

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// noObjects has no ConfigMaps and Secrets.
type noObjects struct{}

// ConfigMap is not found.
func (noObjects) ConfigMap(_, name string) (*v1.ConfigMap, error) {
	return nil, apierrors.NewNotFound(v1.Resource("configmaps"), name)
}

// Secret is not found.
func (noObjects) Secret(_, name string) (*v1.Secret, error) {
	return nil, apierrors.NewNotFound(v1.Resource("secrets"), name)
}
