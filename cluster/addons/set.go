package addons

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Labels and annotations of ApplySets (KEP-3659), and our own.
const (
	idLabel         = "applyset.kubernetes.io/id"
	partOfLabel     = "applyset.kubernetes.io/part-of"
	toolingKey      = "applyset.kubernetes.io/tooling"
	groupKindsKey   = "applyset.kubernetes.io/contains-group-kinds"
	namespacesKey   = "applyset.kubernetes.io/additional-namespaces"
	addonLabel      = "lifepod.dev/addon"
	fileKey         = "lifepod.dev/file"
	tooling         = "lifepod/v1.0.0"
	parentNamespace = metav1.NamespaceSystem
)

// fieldManager owns the fields that are applied.
const fieldManager = "lifepod-addons"

// Status is how it went with a file.
type Status struct {
	File    string
	Applied bool   // all of it, and nothing else is left of it
	Message string // what is wrong, if not
	Objects int    // in the file
}

// List says how it went with all files that the cluster has objects of, by name.
func List(ctx context.Context, client kubernetes.Interface) ([]Status, error) {
	parents, err := client.CoreV1().ConfigMaps(parentNamespace).List(ctx, metav1.ListOptions{LabelSelector: addonLabel})
	if err != nil {
		return nil, fmt.Errorf("list add-ons: %w", err)
	}
	var list []Status
	for _, p := range parents.Items {
		objects, _ := strconv.Atoi(p.Data["objects"])
		list = append(list, Status{File: p.Annotations[fileKey], Applied: p.Data["status"] == "Applied", Message: p.Data["message"], Objects: objects})
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.File, b.File) })
	return list, nil
}

var unfit = regexp.MustCompile("[^a-z0-9]+")

// parentName is the name of the ConfigMap of a file.
func parentName(path string) string {
	sum := sha256.Sum256([]byte(path))
	readable := unfit.ReplaceAllString(strings.ToLower(filepath.Base(path)), "-")
	return strings.Trim("addon-"+readable[:min(len(readable), 100)], "-") + "-" + hex.EncodeToString(sum[:4])
}

// setID is the ID of the ApplySet whose parent has that name.
func setID(parent string) string {
	sum := sha256.Sum256([]byte(parent + "." + parentNamespace + ".ConfigMap."))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// set is where the objects of a file are.
type set struct {
	kinds      map[schema.GroupKind]bool
	namespaces map[string]bool
}

func newSet() set { return set{map[schema.GroupKind]bool{}, map[string]bool{}} }

func (s set) add(other set) {
	maps.Copy(s.kinds, other.kinds)
	maps.Copy(s.namespaces, other.namespaces)
}

func (s set) annotations(path string) map[string]string {
	var kinds []string
	for k := range s.kinds {
		kinds = append(kinds, k.String())
	}
	slices.Sort(kinds)
	return map[string]string{
		toolingKey: tooling, fileKey: path, groupKindsKey: strings.Join(kinds, ","),
		namespacesKey: strings.Join(slices.Sorted(maps.Keys(s.namespaces)), ","),
	}
}

func setOf(parent *v1.ConfigMap) set {
	s := newSet()
	for kind := range strings.SplitSeq(parent.Annotations[groupKindsKey], ",") {
		if kind != "" {
			s.kinds[schema.ParseGroupKind(kind)] = true
		}
	}
	for namespace := range strings.SplitSeq(parent.Annotations[namespacesKey], ",") {
		if namespace != "" {
			s.namespaces[namespace] = true
		}
	}
	return s
}

// recorded is where the cluster has objects of a file.
func (c Config) recorded(ctx context.Context, path string) (set, error) {
	parent, err := c.Client.CoreV1().ConfigMaps(parentNamespace).Get(ctx, parentName(path), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return newSet(), nil
	}
	if err != nil {
		return set{}, fmt.Errorf("read what the cluster has of it: %w", err)
	}
	return setOf(parent), nil
}

// record writes where the cluster has, or is about to have, objects of a file, and
// how it went.
func (c Config) record(ctx context.Context, s set, status Status) (*v1.ConfigMap, error) {
	name := parentName(status.File)
	parent := corev1.ConfigMap(name, parentNamespace).
		WithLabels(map[string]string{idLabel: setID(name), addonLabel: "true"}).
		WithAnnotations(s.annotations(status.File)).
		WithData(map[string]string{"status": "Failed", "message": status.Message, "objects": strconv.Itoa(status.Objects)})
	if status.Applied {
		parent.Data["status"] = "Applied"
	}
	made, err := c.Client.CoreV1().ConfigMaps(parentNamespace).Apply(ctx, parent, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return nil, fmt.Errorf("record what the cluster has of it: %w", err)
	}
	return made, nil
}
