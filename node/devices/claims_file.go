package devices

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// claimsCheckpoint is the kubelet's file (A-DRA-5): what it has to say, as text, and its checksum.
type claimsCheckpoint struct {
	Data     string
	Checksum uint32
}

type claimsContent struct {
	metav1.TypeMeta
	ClaimInfoStateList []Claim
}

var typeMeta = metav1.TypeMeta{Kind: "DRACheckpoint", APIVersion: "checkpoint.dra.kubelet.k8s.io/v1"}

// readFile gives back no claims if there is no file.
func readFile(path string) ([]Claim, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file claimsCheckpoint
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if sum := crc32.ChecksumIEEE([]byte(file.Data)); err == nil && sum != file.Checksum {
		err = fmt.Errorf("its checksum is %d, that of its content %d", file.Checksum, sum)
	}
	var data claimsContent
	if err == nil {
		err = json.Unmarshal([]byte(file.Data), &data)
	}
	if err == nil && data.APIVersion != typeMeta.APIVersion {
		err = fmt.Errorf("its apiVersion is %q; want %q", data.APIVersion, typeMeta.APIVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("state of resource claims %s can't be used, drain the node and remove the file: %w", path, err)
	}
	return data.ClaimInfoStateList, nil
}

func writeFile(path string, claims []Claim) error {
	data, err := json.Marshal(claimsContent{TypeMeta: typeMeta, ClaimInfoStateList: claims})
	if err != nil {
		return err
	}
	text, err := json.Marshal(claimsCheckpoint{Data: string(data), Checksum: crc32.ChecksumIEEE(data)})
	if err != nil {
		return err
	}
	return wholefile.Write(path, text)
}
