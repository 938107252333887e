// Package openapi describes the APIs of a server when somebody wants to know.
package openapi

import (
	"github.com/google/uuid"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// ServeV2 serves the description of a server's APIs in OpenAPI v2. Upstream makes
// it at the start, of which it is a quarter; here the first request makes it. kubectl and
// the other parts of a cluster ask for v3 only. The front server makes what it serves at
// this path, with the APIs of CustomResourceDefinitions and other API servers, of this
// one when it is asked.
func ServeV2(server *genericapiserver.GenericAPIServer, config *common.Config) {
	services := server.Handler.GoRestfulContainer.RegisteredWebServices()
	made := cached.Once(cached.Func[*spec.Swagger](func() (*spec.Swagger, string, error) {
		swagger, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), config)
		if err != nil {
			klog.Errorf("Failed to build OpenAPI v2: %v", err)
			return nil, "", err
		}
		swagger.Definitions = handler.PruneDefaults(swagger.Definitions)
		return swagger, uuid.New().String(), nil
	}))
	handler.NewOpenAPIServiceLazy(made).RegisterOpenAPIVersionedService("/openapi/v2", server.Handler.NonGoRestfulMux)
}
