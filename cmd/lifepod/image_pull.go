package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	units "github.com/docker/go-units"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/images"
)

func newImagePullCommand(open openImages, complete completer) *cobra.Command {
	var secretFile string
	command := &cobra.Command{
		Use:   "pull IMAGE",
		Short: "Pull an image from its registry",
		Args:  commandline.Arguments(1, 1),

		ValidArgsFunction: complete,
		RunE: func(command *cobra.Command, args []string) error {
			request, err := pullRequest(args[0], secretFile)
			if err != nil {
				return err
			}
			return withImages(command.Context(), open, func(session *imageSession) error {
				return pullImage(command, session, request)
			})
		},
	}
	command.Flags().StringVar(&secretFile, "secret-file", "", "registry credentials, tried before those of the node: a docker config.json `file`")
	return command
}

func pullRequest(image, secretFile string) (images.PullRequest, error) {
	name, err := lifecycle.WithDefaultTag(image)
	if err != nil {
		return images.PullRequest{}, err
	}
	request := images.PullRequest{Image: name}
	if secretFile == "" {
		return request, nil
	}
	config, err := os.ReadFile(secretFile)
	if err != nil {
		return images.PullRequest{}, fmt.Errorf("read --secret-file: %w", err)
	}
	secret := v1.Secret{Type: v1.SecretTypeDockerConfigJson, Data: map[string][]byte{v1.DockerConfigJsonKey: config}}
	secret.Name = secretFile
	request.Secrets = []v1.Secret{secret}
	return request, nil
}

func pullImage(command *cobra.Command, session *imageSession, request images.PullRequest) error {
	line := newProgressLine(command.ErrOrStderr(), request.Image)
	request.Progress = line.report
	_, err := session.Store.Pull(command.Context(), request)
	line.finish()
	if failed, ok := errors.AsType[*images.PullError](err); ok {
		return fmt.Errorf("pull image %q: %s", request.Image, cri.Text(failed.Err))
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(command.OutOrStdout(), images.FullName(request.Image))
	return nil
}

// progressLine shows how far a pull is: on a terminal one line that is drawn
// anew each time, elsewhere a line every few seconds.
type progressLine struct {
	out      io.Writer
	image    string
	terminal bool
	// shown is the elapsed time of the last line, 0 before the first.
	shown time.Duration
}

const (
	quietStart   = time.Second
	plainSpacing = 5 * time.Second
)

func newProgressLine(out io.Writer, image string) *progressLine {
	file, isFile := out.(*os.File)
	return &progressLine{out: out, image: image, terminal: isFile && term.IsTerminal(int(file.Fd()))}
}

func (l *progressLine) report(p images.Progress) {
	if p.Elapsed < quietStart {
		return
	}
	text := fmt.Sprintf("pulling %s: %s", l.image, describeProgress(p))
	switch {
	case l.terminal:
		fmt.Fprintf(l.out, "\r\x1b[K%s", text)
	case l.shown == 0 || p.Elapsed-l.shown >= plainSpacing:
		fmt.Fprintln(l.out, text)
	default:
		return
	}
	l.shown = p.Elapsed
}

// finish takes the redrawn line away.
func (l *progressLine) finish() {
	if l.terminal && l.shown > 0 {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}

func describeProgress(p images.Progress) string {
	elapsed := p.Elapsed.Round(time.Second).String()
	switch {
	case p.TotalBytes == 0:
		return elapsed
	case p.DoneBytes == p.TotalBytes:
		return fmt.Sprintf("%s arrived, unpacking, %s", units.HumanSize(float64(p.TotalBytes)), elapsed)
	default:
		return fmt.Sprintf("%s of %s (%d%%), %s", units.HumanSize(float64(p.DoneBytes)),
			units.HumanSize(float64(p.TotalBytes)), p.DoneBytes*100/p.TotalBytes, elapsed)
	}
}
