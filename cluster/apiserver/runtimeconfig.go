package apiserver

import (
	"fmt"
	"maps"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/server/resourceconfig"
	"k8s.io/component-base/cli/flag"
	"k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
)

// runtimeConfig are the APIs that are on, stable and beta ones, and what the user says of
// them. Who says something of all says it of those, too.
func runtimeConfig(user map[string]string) flag.ConfigurationMap {
	all := flag.ConfigurationMap{resourceconfig.APIGA: "true", resourceconfig.APIBeta: "true"}
	if _, said := user[resourceconfig.APIAll]; said {
		clear(all)
	}
	maps.Copy(all, user)
	return all
}

// CheckRuntimeConfig says what is wrong with the APIs that a user turns on and off.
func CheckRuntimeConfig(user map[string]string) error {
	merged := runtimeConfig(user)
	enablement := options.APIEnablementOptions{RuntimeConfig: merged}
	if errs := enablement.Validate(legacyscheme.Scheme, apiextensions.Scheme, scheme.Scheme); len(errs) > 0 {
		return wrong(utilerrors.NewAggregate(errs))
	}
	if _, err := resourceconfig.MergeAPIResourceConfigs(controlplane.DefaultAPIResourceConfigSource(), merged, legacyscheme.Scheme); err != nil {
		return wrong(err)
	}
	return nil
}

func wrong(err error) error {
	text := strings.TrimPrefix(err.Error(), "runtime-config ")
	return fmt.Errorf("--runtime-config: %s: want group/version=true or false, such as certificates.k8s.io/v1beta1=true", text)
}
