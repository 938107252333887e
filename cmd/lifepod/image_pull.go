package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/images"
)

func newImagePullCommand(open openImages, complete completer) *cobra.Command {
	var secretFile, output string
	command := &cobra.Command{
		Use:   "pull IMAGE",
		Short: "Pull an image from its registry",
		Args:  commandline.Arguments(1, 1),

		ValidArgsFunction: complete,
		RunE: func(command *cobra.Command, args []string) error {
			if err := commandline.CheckOutput(output, "json"); err != nil {
				return err
			}
			request, err := pullRequest(args[0], secretFile)
			if err != nil {
				return err
			}
			return withImages(command.Context(), open, func(session *imageSession) error {
				return pullImage(command, session, request, output)
			})
		},
	}
	command.Flags().StringVar(&secretFile, "secret-file", "", "registry credentials, tried before those of the node: a docker config.json `file`")
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: json, an object per line, on standard output")
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

func pullImage(command *cobra.Command, session *imageSession, request images.PullRequest, output string) error {
	var show pullDisplay = newPullLines(command.ErrOrStderr(), request.Image)
	if output == "json" {
		show = &pullObjects{out: command.OutOrStdout(), image: request.Image}
	}
	request.Progress = show.report
	pulled, err := session.Store.Pull(command.Context(), request)
	show.finish()
	if failed, ok := errors.AsType[*images.PullError](err); ok {
		return fmt.Errorf("pull image %q: %s", request.Image, cri.Text(failed.Err))
	}
	if err != nil {
		return err
	}
	if output == "json" {
		return printPulled(command.OutOrStdout(), request.Image, pulled)
	}
	fmt.Fprintln(command.OutOrStdout(), images.FullName(request.Image))
	return nil
}
