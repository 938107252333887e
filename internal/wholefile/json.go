package wholefile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// ReadJSON reads what WriteJSON has written. If there is no file, the value stays as it is.
func ReadJSON(path string, into any) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	return err
}

// WriteJSON is Write for a value.
func WriteJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return Write(path, content)
}
