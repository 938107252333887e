package openapi

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/version"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"
)

// pathV3 has the list of what is described, and below it the descriptions.
const pathV3 = "/openapi/v3"

// ServeV3 serves the descriptions of a server's APIs in OpenAPI v3, one for each group and version.
// Upstream makes and encodes all of them at the start, because the list names each by a hash of its
// bytes. Here a hash is of what decides about them, and the first request for one makes it.
func ServeV3(server *genericapiserver.GenericAPIServer, config *common.OpenAPIV3Config) error {
	d := descriptions{}
	list := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for _, service := range server.Handler.GoRestfulContainer.RegisteredWebServices() {
		name := strings.TrimPrefix(service.RootPath(), "/")
		d[name] = newDescription(name, service, config)
		list.Paths[name] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: d[name].url()}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("list the descriptions of the APIs: %w", err)
	}
	server.Handler.NonGoRestfulMux.Handle(pathV3, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // to a client that may have gone
	}))
	server.Handler.NonGoRestfulMux.HandlePrefix(pathV3+"/", d)
	return nil
}

// descriptions are those of all groups and versions, by their path without a slash before it.
type descriptions map[string]*description

// ServeHTTP answers as upstream does.
func (d descriptions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	described, ok := d[strings.TrimPrefix(r.URL.Path, pathV3+"/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch r.URL.Query().Get("hash") {
	case described.hash:
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).Format(time.RFC1123))
	case "":
	default:
		http.Redirect(w, r, described.url(), http.StatusMovedPermanently)
		return
	}
	plain := r.Clone(r.Context())
	plain.URL.RawQuery = "" // upstream's hash is another one
	described.made().HandleGroupVersion(w, plain)
}

// description is that of a group and version.
type description struct {
	name, hash string
	made       func() *handler3.OpenAPIService
}

func newDescription(name string, service *restful.WebService, config *common.OpenAPIV3Config) *description {
	return &description{name: name, hash: hashOf(service), made: sync.OnceValue(func() *handler3.OpenAPIService {
		alone := restful.NewContainer()
		alone.Add(service)
		return routes.OpenAPI{V3Config: config}.InstallV3(alone, mux.NewPathRecorderMux(name))
	})}
}

func (d *description) url() string {
	return (&url.URL{Path: pathV3 + "/" + d.name, RawQuery: url.Values{"hash": {d.hash}}.Encode()}).String()
}

// hashOf is of what a description is made of: the routes that there are, and the types as this
// version of Kubernetes has them with the feature gates.
func hashOf(service *restful.WebService) string {
	h := sha256.New()
	fmt.Fprintln(h, version.Get().GitVersion, utilfeature.DefaultMutableFeatureGate)
	for _, route := range service.Routes() {
		fmt.Fprintln(h, route.Method, route.Path, route.Operation)
	}
	return fmt.Sprintf("%X", h.Sum(nil))
}
