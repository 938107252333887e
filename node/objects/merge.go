package objects

import (
	"cmp"
	"slices"

	kubelet "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/worker/images"
)

// credentialsOf are those that a source stands for; nil is everybody's.
func credentialsOf(by *images.Source) *kubelet.ImagePullCredentials {
	switch {
	case by == nil:
		return &kubelet.ImagePullCredentials{NodePodsAccessible: true}
	case by.ServiceAccount != nil:
		return &kubelet.ImagePullCredentials{KubernetesServiceAccounts: []kubelet.ImagePullServiceAccount{kubelet.ImagePullServiceAccount(*by.ServiceAccount)}}
	}
	return &kubelet.ImagePullCredentials{KubernetesSecrets: []kubelet.ImagePullSecret{{
		UID: by.SecretUID, Namespace: by.SecretNamespace, Name: by.SecretName, CredentialHash: by.CredentialHash,
	}}}
}

func matches(known, asked kubelet.ImagePullSecret) bool {
	return sameSecret(known, asked) || known.CredentialHash != "" && known.CredentialHash == asked.CredentialHash
}

func sameSecret(a, b kubelet.ImagePullSecret) bool {
	return a.UID == b.UID && a.Namespace == b.Namespace && a.Name == b.Name
}

// merge makes more the sum of both, and says whether that is more than known was.
func merge(known kubelet.ImagePullCredentials, more *kubelet.ImagePullCredentials) bool {
	if known.NodePodsAccessible {
		return false
	}
	if more.NodePodsAccessible {
		return true // the others need no mention any more
	}
	grown := false
	secrets := slices.Clone(known.KubernetesSecrets)
	for _, secret := range more.KubernetesSecrets {
		if !slices.Contains(secrets, secret) {
			grown = true
			secrets = append(slices.DeleteFunc(secrets, func(s kubelet.ImagePullSecret) bool { return sameSecret(s, secret) }), secret)
		}
	}
	accounts := slices.Clone(known.KubernetesServiceAccounts)
	for _, account := range more.KubernetesServiceAccounts {
		if !slices.Contains(accounts, account) {
			grown = true
			accounts = append(accounts, account)
		}
	}
	slices.SortFunc(secrets, func(a, b kubelet.ImagePullSecret) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	slices.SortFunc(accounts, func(a, b kubelet.ImagePullServiceAccount) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	more.KubernetesSecrets, more.KubernetesServiceAccounts = secrets, accounts
	return grown
}
