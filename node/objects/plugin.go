package objects

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	config "k8s.io/kubelet/config/v1"
	api "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
)

const (
	// pluginTimeout is how long a plugin may take.
	pluginTimeout = time.Minute
	// pipeWait is how long a child of a killed plugin may hold its output open.
	pipeWait = time.Second
	// outputLimit keeps a plugin that writes without end from filling the memory.
	outputLimit = 1 << 20
	// complaintLimit is how much of what a plugin complains of is told.
	complaintLimit = 1 << 10
)

// plugin is one executable.
type plugin struct {
	path       string
	apiVersion string
	args, env  []string
	timeout    time.Duration
}

func newPlugin(path string, p config.CredentialProvider) plugin {
	made := plugin{path: path, apiVersion: p.APIVersion, args: p.Args, timeout: pluginTimeout}
	for _, variable := range p.Env {
		made.env = append(made.env, variable.Name+"="+variable.Value)
	}
	return made
}

// run asks the plugin for credentials. The error never has what it answered,
// which may be secret; what it complained of is part of the error and goes
// nowhere else.
func (p plugin) run(ctx context.Context, request api.CredentialProviderRequest) (*api.CredentialProviderResponse, error) {
	request.TypeMeta = metav1.TypeMeta{Kind: "CredentialProviderRequest", APIVersion: p.apiVersion}
	input, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	output, complaint := &limited{rest: outputLimit}, &limited{rest: complaintLimit}
	command := exec.CommandContext(ctx, p.path, p.args...)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), output, complaint
	command.Env = append(os.Environ(), p.env...)
	command.WaitDelay = pipeWait
	inOwnGroup(command)
	runtime.LockOSThread() // whose end would be the plugin's (Pdeathsig), and which nobody else ends now
	defer runtime.UnlockOSThread()
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.kept.String()))
	}
	if output.over {
		return nil, fmt.Errorf("it answered more than %d bytes", outputLimit)
	}
	return p.decode(output.kept.Bytes())
}

func (p plugin) decode(answer []byte) (*api.CredentialProviderResponse, error) {
	var response api.CredentialProviderResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		return nil, errors.New("error decoding credential provider plugin response from stdout")
	}
	if response.APIVersion != p.apiVersion {
		return nil, fmt.Errorf("apiVersion from credential plugin response did not match expected apiVersion:%s, actual apiVersion:%s", p.apiVersion, response.APIVersion)
	}
	if response.Kind != "CredentialProviderResponse" {
		return nil, fmt.Errorf("failed to decode CredentialProviderResponse, unexpected Kind: %q", response.Kind)
	}
	return &response, nil
}

// limited keeps the first bytes written and takes the others for nothing, so that
// the writer is not blocked.
type limited struct {
	kept bytes.Buffer
	rest int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	kept := p[:min(len(p), l.rest)]
	l.rest -= len(kept)
	l.over = l.over || len(kept) < len(p)
	l.kept.Write(kept)
	return len(p), nil
}

// soon calls again what is refused to a node that has no such pod, for a moment:
// the API server's authorizer and admission may hear of a new pod a little later
// than the node does.
func soon[T any](ctx context.Context, call func(context.Context) (T, error)) (answer T, err error) {
	pauses := wait.Backoff{Duration: 8 * time.Millisecond, Factor: 2, Steps: 8} // about a second
	ended := wait.ExponentialBackoffWithContext(ctx, pauses, func(ctx context.Context) (bool, error) {
		answer, err = call(ctx)
		return !apierrors.IsForbidden(err) && !isPodNotFound(err), nil
	})
	return answer, cmp.Or(err, ended)
}

// isPodNotFound says that it is the pod that the API server does not know: a
// token's service account may be missing, too.
func isPodNotFound(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return strings.HasPrefix(status.Status().Details.Kind, "pod")
}
