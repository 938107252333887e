package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/lifepod/lifepod/internal/connlimit"
)

// filesShare is the part of the process's files that clients may have, one in so many. etcd and the node have
// theirs in the same process.
const filesShare = 4

// limit sets limits for the connections of clients. They are admitted when they have shown who they are, before
// anything that may take long.
func limit(config genericapiserver.CompletedConfig) {
	l := connlimit.New(config.SecureServing.Listener, connlimit.Share(filesShare))
	config.SecureServing.Listener = l
	who := config.Authentication.Authenticator
	config.Authentication.Authenticator = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := who.AuthenticateRequest(r)
		if ok && response.User.GetName() != user.Anonymous {
			l.Admit(r.RemoteAddr)
		}
		return response, ok, err
	})
}
