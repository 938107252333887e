package token

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
)

// Invitation is the command with which another machine joins. The token is no
// argument of a program: who else is on that machine can read those.
func Invitation(ctx context.Context, client kubernetes.Interface, token string) (string, error) {
	info, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, bootstrapapi.ConfigMapClusterInfo, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("address of the cluster: %w", err)
	}
	config, err := clientcmd.Load([]byte(info.Data[bootstrapapi.KubeConfigKey]))
	if err != nil {
		return "", fmt.Errorf("address of the cluster: %w", err)
	}
	for _, cluster := range config.Clusters {
		authorities, err := cert.ParseCertsPEM(cluster.CertificateAuthorityData)
		if err != nil {
			return "", fmt.Errorf("authority of the cluster: %w", err)
		}
		var pins strings.Builder // joining trusts only what has one
		for _, authority := range authorities {
			sum := sha256.Sum256(authority.RawSubjectPublicKeyInfo)
			pins.WriteString(" --ca-hash sha256:" + hex.EncodeToString(sum[:]))
		}
		return fmt.Sprintf("echo %s | sudo lifepod join %s%s --token-file -", token, cluster.Server, pins.String()), nil
	}
	return "", errors.New("address of the cluster: the ConfigMap kube-public/cluster-info names none")
}
