package apiserver

import (
	"maps"
	"net"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/lifepod/lifepod/cluster/servingcert"
)

// noteOrigin makes the address that a node's request for a certificate comes from a part of who the node is: the API
// server copies that into the request, over what the node has written there, and nobody can change it then.
func noteOrigin(config genericapiserver.CompletedConfig) {
	who := config.Authentication.Authenticator
	config.Authentication.Authenticator = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := who.AuthenticateRequest(r)
		info, found := genericapirequest.RequestInfoFrom(r.Context())
		if !ok || !found || info.Resource != "certificatesigningrequests" || !slices.Contains(response.User.GetGroups(), user.NodesGroup) {
			return response, ok, err
		}
		from, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return nil, false, err
		}
		u, extra := response.User, maps.Clone(response.User.GetExtra()) // another request may have the same
		if extra == nil {
			extra = map[string][]string{}
		}
		extra[servingcert.OriginKey] = []string{from}
		return &authenticator.Response{
			Audiences: response.Audiences, User: &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: extra},
		}, true, nil
	})
}
