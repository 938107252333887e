package kubeconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// place is where a cluster was put.
type place struct {
	File    string `json:"file"`
	Context string `json:"context"`
}

// placesFile is beside the administrator's kubeconfig.
func placesFile(admin string) string { return admin + ".merged" }

func remembered(admin string) ([]place, error) {
	text, err := os.ReadFile(placesFile(admin))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var places []place
	if err := json.Unmarshal(text, &places); err != nil {
		return nil, fmt.Errorf("read %s: %w", placesFile(admin), err)
	}
	return places, nil
}

func remember(admin string, p place) error {
	places, err := remembered(admin)
	if err != nil || slices.Contains(places, p) {
		return err
	}
	text, err := json.Marshal(append(places, p))
	if err != nil {
		return err
	}
	return wholefile.Write(placesFile(admin), text)
}
