package objects

import (
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	config "k8s.io/kubelet/config/v1"
	api "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
)

// pluginVersions are those of the plugins' API; only the first knows tokens.
var pluginVersions = []string{
	api.SchemeGroupVersion.String(), "credentialprovider.kubelet.k8s.io/v1beta1", "credentialprovider.kubelet.k8s.io/v1alpha1",
}

func validate(at *field.Path, p *config.CredentialProvider) field.ErrorList {
	wrong := validateName(at.Child("name"), p.Name)
	switch {
	case p.APIVersion == "":
		wrong = append(wrong, field.Required(at.Child("apiVersion"), ""))
	case !slices.Contains(pluginVersions, p.APIVersion):
		wrong = append(wrong, field.NotSupported(at.Child("apiVersion"), p.APIVersion, pluginVersions))
	}
	if len(p.MatchImages) == 0 {
		wrong = append(wrong, field.Required(at.Child("matchImages"), "at least 1 item in matchImages is required"))
	}
	for i, pattern := range p.MatchImages {
		if _, err := url.Parse("https://" + pattern); err != nil {
			wrong = append(wrong, field.Invalid(at.Child("matchImages").Index(i), pattern, "match image is invalid: "+err.Error()))
		}
	}
	switch d := p.DefaultCacheDuration; {
	case d == nil:
		wrong = append(wrong, field.Required(at.Child("defaultCacheDuration"), ""))
	case d.Duration < 0:
		wrong = append(wrong, field.Invalid(at.Child("defaultCacheDuration"), d.Duration.String(), "must be greater than or equal to 0"))
	}
	if p.TokenAttributes != nil {
		wrong = append(wrong, validateToken(at.Child("tokenAttributes"), p)...)
	}
	return wrong
}

func validateName(at *field.Path, name string) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(at, "it is the name of the plugin's file")}
	case strings.Contains(name, "/"):
		return field.ErrorList{field.Invalid(at, name, "provider name cannot contain '/'")}
	case strings.Contains(name, " "):
		return field.ErrorList{field.Invalid(at, name, "provider name cannot contain spaces")}
	case name == "." || name == "..":
		return field.ErrorList{field.Invalid(at, name, "provider name cannot be '"+name+"'")}
	}
	return nil
}

var cacheTypes = []config.ServiceAccountTokenCacheType{config.ServiceAccountServiceAccountTokenCacheType, config.TokenServiceAccountTokenCacheType}

func validateToken(at *field.Path, p *config.CredentialProvider) field.ErrorList {
	var wrong field.ErrorList
	t := p.TokenAttributes
	if t.ServiceAccountTokenAudience == "" {
		wrong = append(wrong, field.Required(at.Child("serviceAccountTokenAudience"), ""))
	}
	if p.APIVersion != pluginVersions[0] {
		wrong = append(wrong, field.Forbidden(at, "tokenAttributes is only supported for "+pluginVersions[0]+" API version"))
	}
	switch {
	case t.RequireServiceAccount == nil:
		wrong = append(wrong, field.Required(at.Child("requireServiceAccount"), ""))
	case !*t.RequireServiceAccount && len(t.RequiredServiceAccountAnnotationKeys) > 0:
		wrong = append(wrong, field.Forbidden(at.Child("requiredServiceAccountAnnotationKeys"), "requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set"))
	}
	switch {
	case t.CacheType == "":
		wrong = append(wrong, field.Required(at.Child("cacheType"), "cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token"))
	case !slices.Contains(cacheTypes, t.CacheType):
		wrong = append(wrong, field.NotSupported(at.Child("cacheType"), t.CacheType, cacheTypes))
	}
	wrong = append(wrong, validateKeys(at.Child("requiredServiceAccountAnnotationKeys"), t.RequiredServiceAccountAnnotationKeys)...)
	wrong = append(wrong, validateKeys(at.Child("optionalServiceAccountAnnotationKeys"), t.OptionalServiceAccountAnnotationKeys)...)
	for _, key := range t.RequiredServiceAccountAnnotationKeys {
		if slices.Contains(t.OptionalServiceAccountAnnotationKeys, key) {
			wrong = append(wrong, field.Invalid(at, key, "annotation keys cannot be both required and optional"))
		}
	}
	return wrong
}

func validateKeys(at *field.Path, keys []string) field.ErrorList {
	var wrong field.ErrorList
	for i, key := range keys {
		for _, message := range validation.IsQualifiedName(strings.ToLower(key)) {
			wrong = append(wrong, field.Invalid(at.Index(i), key, message))
		}
		if slices.Contains(keys[:i], key) {
			wrong = append(wrong, field.Duplicate(at.Index(i), key))
		}
	}
	return wrong
}
