package deleted

import (
	"fmt"
	"os"
	"path/filepath"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"google.golang.org/protobuf/proto"
)

// fileName is the answer's in the bundle, as in repeat.c.
const fileName = "deleted"

// Leave writes down what was answered to the deletion of what the bundle is of. From then on the
// program does nothing else when it is asked to clean up there.
func Leave(bundle string, answer *taskapi.DeleteResponse) error {
	text, err := proto.Marshal(answer)
	if err != nil {
		return fmt.Errorf("note a deletion: %w", err)
	}
	return os.WriteFile(filepath.Join(bundle, fileName), text, 0o600)
}
