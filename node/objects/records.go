package objects

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/worker/images"
)

// secretLimit is how many secrets a record may have before matches are no longer
// added to it (A-IMG-8).
const secretLimit = 100

// PullRecords implement images.Records in files: who may use which image that was
// pulled to the node (A-IMG-8).
type PullRecords struct {
	// immutable
	policy          PullPolicy
	pulling, pulled folder
	log             *slog.Logger

	// guarded by mu
	mu       sync.Mutex
	underWay map[string]int // pulls by image
}

// OpenPullRecords opens the records below the agent's root folder. A pull that the
// agent did not see the end of, of an image that is present, becomes a record
// that lets nobody use it without a proof.
func OpenPullRecords(root string, policy PullPolicy, present []images.Image, log *slog.Logger) *PullRecords {
	dir := rootfolder.ImageManager.In(root)
	r := &PullRecords{
		policy: policy, log: log, underWay: map[string]int{},
		pulling: folder(filepath.Join(dir, "pulling")), pulled: folder(filepath.Join(dir, "pulled")),
	}
	intents, err := list[kubelet.ImagePullIntent](r.pulling, "ImagePullIntent")
	if err != nil {
		log.Warn("can't read some records of image pulls", "err", err)
	}
	for _, intent := range intents {
		for _, image := range present {
			if slices.Contains(image.Tags, intent.Image) || slices.Contains(image.Digests, intent.Image) {
				r.end(intent.Image, r.add(intent.Image, image.ID, nil))
			}
		}
	}
	return r
}

// Intend implements images.Records.
func (r *PullRecords) Intend(image string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.pulling.write(image, &kubelet.ImagePullIntent{TypeMeta: typeOf("ImagePullIntent"), Image: image}); err != nil {
		return err
	}
	r.underWay[image]++
	return nil
}

// Pulled implements images.Records. If it can't be written down the intent stays:
// the image is not taken for a preloaded one.
func (r *PullRecords) Pulled(image, id string, by *images.Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(image, r.add(image, id, credentialsOf(by)))
}

// Failed implements images.Records.
func (r *PullRecords) Failed(image string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(image, nil)
}

// end removes the intent with the last pull of the image; err keeps it.
func (r *PullRecords) end(image string, err error) {
	if r.underWay[image]--; r.underWay[image] > 0 {
		return
	}
	delete(r.underWay, image)
	if err == nil {
		err = r.pulling.remove(image)
	}
	if err != nil {
		r.log.Warn("can't save which credentials may use an image", "image", image, "err", err)
	}
}

// add merges credentials into the record of an image, nil none: that there is a
// record says that the image was pulled.
func (r *PullRecords) add(image, id string, credentials *kubelet.ImagePullCredentials) error {
	repository, err := repositoryOf(image)
	if err != nil {
		return fmt.Errorf("invalid image name %q: %w", image, err)
	}
	record, err := r.pulled.pulled(id)
	if err != nil {
		r.log.Warn("the record of a pulled image can't be read: it is written again", "image", image, "err", err)
	}
	if record == nil {
		record = &kubelet.ImagePulledRecord{ImageRef: id}
	} else if credentials == nil || !merge(record.CredentialMapping[repository], credentials) {
		return nil
	}
	if credentials != nil {
		if record.CredentialMapping == nil {
			record.CredentialMapping = map[string]kubelet.ImagePullCredentials{}
		}
		record.CredentialMapping[repository] = *credentials
	}
	record.TypeMeta, record.LastUpdatedTime = typeOf("ImagePulledRecord"), metav1.Now()
	return r.pulled.write(id, record)
}

// MustPull implements images.Records.
func (r *PullRecords) MustPull(image, id string, sources func() ([]images.Source, error)) bool {
	r.mu.Lock()
	record, known, err := r.find(image, id)
	r.mu.Unlock()
	if err != nil {
		r.log.Warn("can't read which credentials may use an image: it is pulled again", "image", image, "err", err)
		return true
	}
	if !r.policy.verifies(image, known) {
		return false
	}
	repository, err := repositoryOf(image)
	if err != nil || record == nil {
		return true
	}
	may := record.CredentialMapping[repository]
	if may.NodePodsAccessible {
		return false
	}
	if len(may.KubernetesSecrets) == 0 && len(may.KubernetesServiceAccounts) == 0 {
		return true
	}
	theirs, err := sources()
	if err != nil {
		return true
	}
	return !r.anyMay(image, id, may, theirs)
}

// find also says whether the image was ever pulled, or is being.
func (r *PullRecords) find(image, id string) (record *kubelet.ImagePulledRecord, known bool, err error) {
	record, err = r.pulled.pulled(id)
	if err != nil || record != nil || r.underWay[image] > 0 {
		return record, true, err
	}
	known, err = r.pulling.intended(image)
	return nil, known, err
}

// anyMay says whether one of the sources is in the record: the same secret, even
// with another content, or the same content in another secret; it is then added.
func (r *PullRecords) anyMay(image, id string, may kubelet.ImagePullCredentials, sources []images.Source) bool {
	for _, source := range sources {
		credentials := credentialsOf(&source)
		if source.ServiceAccount != nil {
			if slices.Contains(may.KubernetesServiceAccounts, credentials.KubernetesServiceAccounts[0]) {
				return true
			}
			continue
		}
		secret := credentials.KubernetesSecrets[0]
		if slices.ContainsFunc(may.KubernetesSecrets, func(s kubelet.ImagePullSecret) bool { return matches(s, secret) }) {
			r.learn(image, id, may, credentials)
			return true
		}
	}
	return false
}

func (r *PullRecords) learn(image, id string, may kubelet.ImagePullCredentials, more *kubelet.ImagePullCredentials) {
	if slices.Contains(may.KubernetesSecrets, more.KubernetesSecrets[0]) || len(may.KubernetesSecrets) >= secretLimit {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.add(image, id, more); err != nil {
		r.log.Warn("can't save which credentials may use an image", "image", image, "err", err)
	}
}

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
