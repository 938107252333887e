package token

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
)

// Token is a bootstrap token without its secret.
type Token struct {
	ID          string
	Expires     time.Time // zero: never
	Description string
}

// Create makes a token for joining nodes that is good for ttl, forever if that is 0.
// It returns the whole token, which nothing shows again.
func Create(ctx context.Context, client kubernetes.Interface, ttl time.Duration, description string) (string, error) {
	token, err := bootstraputil.GenerateBootstrapToken()
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	id, secret, _ := strings.Cut(token, ".")
	data := map[string]string{
		bootstrapapi.BootstrapTokenIDKey:               id,
		bootstrapapi.BootstrapTokenSecretKey:           secret,
		bootstrapapi.BootstrapTokenUsageAuthentication: "true",
		bootstrapapi.BootstrapTokenUsageSigningKey:     "true",
		bootstrapapi.BootstrapTokenExtraGroupsKey:      Group,
	}
	if ttl > 0 {
		data[bootstrapapi.BootstrapTokenExpirationKey] = time.Now().UTC().Add(ttl).Format(time.RFC3339)
	}
	if description != "" {
		data[bootstrapapi.BootstrapTokenDescriptionKey] = description
	}
	_, err = client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: bootstraputil.BootstrapTokenSecretName(id)},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		StringData: data,
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return token, nil
}

// List are the tokens that are there, those that expire first before the others.
func List(ctx context.Context, client kubernetes.Interface) ([]Token, error) {
	secrets, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		FieldSelector: "type=" + string(bootstrapapi.SecretTypeBootstrapToken),
	})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	var list []Token
	for _, s := range secrets.Items {
		t := Token{ID: string(s.Data[bootstrapapi.BootstrapTokenIDKey]), Description: string(s.Data[bootstrapapi.BootstrapTokenDescriptionKey])}
		if text := s.Data[bootstrapapi.BootstrapTokenExpirationKey]; len(text) > 0 {
			if t.Expires, err = time.Parse(time.RFC3339, string(text)); err != nil {
				return nil, fmt.Errorf("token %s: expiration: %w", t.ID, err)
			}
		}
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b Token) int {
		if a.Expires.IsZero() != b.Expires.IsZero() {
			if a.Expires.IsZero() {
				return 1
			}
			return -1
		}
		return a.Expires.Compare(b.Expires)
	})
	return list, nil
}

// Delete ends a token, named by its ID or as a whole. Nodes that have joined with it
// stay.
func Delete(ctx context.Context, client kubernetes.Interface, token string) error {
	id, _, _ := strings.Cut(token, ".")
	if !bootstraputil.IsValidBootstrapTokenID(id) {
		return fmt.Errorf("token ID %q: want 6 characters of a to z and 0 to 9", id)
	}
	if err := client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, bootstraputil.BootstrapTokenSecretName(id), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete token %s: %w", id, err)
	}
	return nil
}
