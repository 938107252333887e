package live

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
)

// runtimeService passes calls on to the runtime. A call that the runtime lacks, such as Exec or
// PortForward, is answered with the code Unimplemented.
type runtimeService struct {
	containerCalls

	of *crifake.Runtime
}

// containerCalls are those about containers.
type containerCalls struct {
	runtimeapi.UnimplementedRuntimeServiceServer

	of *crifake.Runtime
}

func (s runtimeService) RunPodSandbox(ctx context.Context, in *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	return s.of.RunPodSandbox(ctx, in)
}

func (s runtimeService) StopPodSandbox(ctx context.Context, in *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	return s.of.StopPodSandbox(ctx, in)
}

func (s runtimeService) RemovePodSandbox(ctx context.Context, in *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	return s.of.RemovePodSandbox(ctx, in)
}

func (s runtimeService) PodSandboxStatus(ctx context.Context, in *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	return s.of.PodSandboxStatus(ctx, in)
}

func (s runtimeService) ListPodSandbox(ctx context.Context, in *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return s.of.ListPodSandbox(ctx, in)
}

func (s containerCalls) CreateContainer(ctx context.Context, in *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	return s.of.CreateContainer(ctx, in)
}

func (s containerCalls) StartContainer(ctx context.Context, in *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	return s.of.StartContainer(ctx, in)
}

func (s containerCalls) StopContainer(ctx context.Context, in *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	return s.of.StopContainer(ctx, in)
}

func (s containerCalls) RemoveContainer(ctx context.Context, in *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	return s.of.RemoveContainer(ctx, in)
}

func (s containerCalls) ListContainers(ctx context.Context, in *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return s.of.ListContainers(ctx, in)
}

func (s containerCalls) ContainerStatus(ctx context.Context, in *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	return s.of.ContainerStatus(ctx, in)
}

func (s containerCalls) UpdateContainerResources(ctx context.Context, in *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	return s.of.UpdateContainerResources(ctx, in)
}

func (s runtimeService) UpdatePodSandboxResources(ctx context.Context, in *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return s.of.UpdatePodSandboxResources(ctx, in)
}

func (s containerCalls) ExecSync(ctx context.Context, in *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	return s.of.ExecSync(ctx, in)
}

func (s containerCalls) ContainerStats(ctx context.Context, in *runtimeapi.ContainerStatsRequest) (*runtimeapi.ContainerStatsResponse, error) {
	return s.of.ContainerStats(ctx, in)
}

func (s containerCalls) ListContainerStats(ctx context.Context, in *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return s.of.ListContainerStats(ctx, in)
}

func (s runtimeService) PodSandboxStats(ctx context.Context, in *runtimeapi.PodSandboxStatsRequest) (*runtimeapi.PodSandboxStatsResponse, error) {
	return s.of.PodSandboxStats(ctx, in)
}

func (s runtimeService) ListPodSandboxStats(ctx context.Context, in *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return s.of.ListPodSandboxStats(ctx, in)
}

func (s runtimeService) UpdateRuntimeConfig(ctx context.Context, in *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return s.of.UpdateRuntimeConfig(ctx, in)
}

func (s runtimeService) Status(ctx context.Context, in *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	return s.of.Status(ctx, in)
}

func (s runtimeService) Version(ctx context.Context, in *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return s.of.Version(ctx, in)
}

// GetContainerEvents sends events until the caller has enough, or does not keep up.
func (s runtimeService) GetContainerEvents(in *runtimeapi.GetEventsRequest, to runtimeapi.RuntimeService_GetContainerEventsServer) error {
	events, err := s.of.GetContainerEvents(to.Context(), in)
	if err != nil {
		return err
	}
	for {
		event, err := events.Recv()
		if err != nil {
			return err
		}
		if err := to.Send(event); err != nil {
			return err
		}
	}
}

func (s containerCalls) ReopenContainerLog(ctx context.Context, in *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	return s.of.ReopenContainerLog(ctx, in)
}

// imageService serves those of images.
type imageService struct {
	runtimeapi.UnimplementedImageServiceServer

	of *crifake.Runtime
}

func (s imageService) ImageStatus(ctx context.Context, in *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	return s.of.ImageStatus(ctx, in)
}

func (s imageService) PullImage(ctx context.Context, in *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	return s.of.PullImage(ctx, in)
}

func (s imageService) ListImages(ctx context.Context, in *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return s.of.ListImages(ctx, in)
}

func (s imageService) RemoveImage(ctx context.Context, in *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	return s.of.RemoveImage(ctx, in)
}

func (s imageService) ImageFsInfo(ctx context.Context, in *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	return s.of.ImageFsInfo(ctx, in)
}
