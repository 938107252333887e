package live

import (
	"context"
	"reflect"
	"slices"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
)

// served are the calls that the runtime has. Others, such as Exec or PortForward, are answered with the code Unimplemented.
var served = []string{
	"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox", "UpdatePodSandboxResources",
	"CreateContainer", "StartContainer", "StopContainer", "RemoveContainer", "ListContainers", "ContainerStatus", "UpdateContainerResources",
	"ReopenContainerLog", "ExecSync", "ContainerStats", "ListContainerStats", "PodSandboxStats", "ListPodSandboxStats",
	"UpdateRuntimeConfig", "Status", "Version",
	"ImageStatus", "PullImage", "ListImages", "RemoveImage", "ImageFsInfo",
}

// register serves the runtime's calls of a service. The runtime has them as a client has, so that the server's own table does not fit.
func register(server *grpc.Server, of grpc.ServiceDesc, runtime *crifake.Runtime) {
	of.HandlerType = (*any)(nil)
	of.Methods = slices.DeleteFunc(slices.Clone(of.Methods), func(m grpc.MethodDesc) bool { return !slices.Contains(served, m.MethodName) })
	for i := range of.Methods {
		call := reflect.ValueOf(runtime).MethodByName(of.Methods[i].MethodName)
		of.Methods[i].Handler = func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := reflect.New(call.Type().In(1).Elem())
			if err := decode(in.Interface()); err != nil {
				return nil, err
			}
			out := call.Call([]reflect.Value{reflect.ValueOf(ctx), in})
			err, _ := reflect.TypeAssert[error](out[1])
			return out[0].Interface(), err
		}
	}
	of.Streams = slices.DeleteFunc(slices.Clone(of.Streams), func(s grpc.StreamDesc) bool { return s.StreamName != "GetContainerEvents" })
	for i := range of.Streams {
		of.Streams[i].Handler = func(_ any, to grpc.ServerStream) error { return sendEvents(runtime, to) }
	}
	server.RegisterService(&of, runtime)
}

// sendEvents sends events until the caller has enough, or does not keep up.
func sendEvents(runtime *crifake.Runtime, to grpc.ServerStream) error {
	in := &runtimeapi.GetEventsRequest{}
	if err := to.RecvMsg(in); err != nil {
		return err
	}
	events, err := runtime.GetContainerEvents(to.Context(), in)
	for err == nil {
		var event *runtimeapi.ContainerEventResponse
		if event, err = events.Recv(); err == nil {
			err = to.SendMsg(event)
		}
	}
	return err
}
