package manifest

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
	"github.com/lifepod/lifepod/lifecycle"
)

// wantImage is what the name of an image looks like.
const wantImage = "should be like registry.example.com/team/app:1.2, in lower case but for the tag"

// checkImages refuses images whose names can't be parsed. An API server takes them, and the kubelet then
// waits with InvalidImageName for ever; here nobody can change the Pod afterwards (A-IMG-1).
func checkImages(o *object, pod *v1.Pod) (errs []*Error) {
	check := func(path *field.Path, image string) {
		if text, hint := invalidImage(image); text != "" {
			errs = append(errs, o.errorf(path.String(), hint, "%s", text))
		}
	}
	spec := field.NewPath("spec")
	for i := range pod.Spec.InitContainers {
		check(spec.Child("initContainers").Index(i).Child("image"), pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		check(spec.Child("containers").Index(i).Child("image"), pod.Spec.Containers[i].Image)
	}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Image != nil {
			check(spec.Child("volumes").Index(i).Child("image", "reference"), v.Image.Reference)
		}
	}
	return errs
}

// invalidImage says what is wrong with the name of an image, and what would be right; both are empty if it
// can be parsed, or is missing, of which Kubernetes' validation tells.
func invalidImage(image string) (problem, want string) {
	if strings.TrimSpace(image) == "" {
		return "", ""
	}
	_, err := lifecycle.WithDefaultTag(image)
	switch hint := yamlsyntax.Hint(image); {
	case err == nil:
		return "", ""
	case hint != "":
		return fmt.Sprintf("couldn't parse image name %q", image), hint
	}
	return err.Error(), wantImage
}
