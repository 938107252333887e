package detach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"

	bootapi "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/shim"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
)

// What upstream's shim has of the one that executes it.
const (
	socketNumber  = 3   // of the file, as in detach.c
	socketDirLink = "s" // to the folder of the socket, by which the shim removes that
	threads       = 4   // that carry out Go code at a time
)

// maxInput is as much as upstream reads, in bytes.
const maxInput = 10 << 20

// Start answers containerd if it asks for a shim that this process can be. The process then has the
// shim's arguments, and the shim's socket is open. Otherwise Start changes nothing. Call it on the first thread,
// and [shim.RunShim] after it in any case.
func Start(ctx context.Context) error {
	if !waits() {
		return nil
	}
	input, err := io.ReadAll(io.LimitReader(os.Stdin, maxInput))
	if err != nil {
		return fmt.Errorf("read what containerd asks for: %w", err)
	}
	s, fits := parse(os.Args[1:], input)
	if !fits {
		return giveBack(input)
	}
	answer, err := s.open(namespaces.WithNamespace(ctx, s.namespace))
	if err != nil {
		return giveBack(input) // upstream says what is wrong, or finds the shim that has the socket
	}
	return s.become(answer)
}

// giveBack has upstream read the input.
func giveBack(input []byte) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	os.Stdin = reader
	go func() {
		_, _ = io.Copy(writer, bytes.NewReader(input)) // who reads it says what is missing
		_ = writer.Close()
	}()
	return nil
}

// start is what containerd asks for.
type start struct {
	namespace, id string
	address       string // of containerd
	socketDir     string
}

// parse reads the arguments and the input of a start, in the bundle's folder; false, if
// it is not one for this package.
func parse(args []string, input []byte) (start, bool) {
	var s start
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&s.namespace, "namespace", "", "")
	set.StringVar(&s.id, "id", "", "")
	set.StringVar(&s.address, "address", "", "")
	set.String("publish-binary", "", "")
	if set.Parse(args) != nil || set.NArg() != 1 || set.Arg(0) != "start" {
		return s, false
	}
	var params bootapi.BootstrapParams
	if err := proto.Unmarshal(input, &params); err != nil || params.GetInstanceID() != s.id || params.GetNamespace() != s.namespace {
		return s, false
	}
	s.socketDir = params.GetSocketDir()
	var opts options.Options
	if _, err := params.FindExtension(&opts); err != nil || opts.GetShimCgroup() != "" {
		return s, false
	}
	debugs := params.GetLogLevel() <= bootapi.LogLevel_LOG_LEVEL_DEBUG
	return s, s.id != "" && s.socketDir != "" && !debugs && os.Getenv("SCHED_CORE") == "" && s.isAlone()
}

// isAlone says whether the shim is one for that sandbox, by the annotations that upstream groups by.
func (s start) isAlone() bool {
	text, err := os.ReadFile("config.json")
	if err != nil {
		return false
	}
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return false
	}
	_, isShared := spec.Annotations["io.containerd.runc.v2.group"]
	return !isShared && spec.Annotations["io.kubernetes.cri.sandbox-id"] == s.id
}

// open opens the shim's socket, and returns what containerd is told of it.
func (s start) open(ctx context.Context) ([]byte, error) {
	address, err := shim.CreateSocketAddress(ctx, s.socketDir, s.address, s.id, false)
	if err != nil {
		return nil, err
	}
	socket, err := shim.NewSocket(address)
	if err != nil {
		return nil, err
	}
	if err := s.keep(socket); err != nil {
		_ = shim.RemoveSocket(address) // upstream makes it anew
		return nil, err
	}
	return answer(address)
}

// answer is what containerd is told. It says that the shim mounts nothing for containerd. Without that containerd
// would execute the shim once more to ask.
func answer(address string) ([]byte, error) {
	result := &bootapi.BootstrapResult{Version: 3, Protocol: "ttrpc", Address: address}
	if err := result.AddExtension(&types.MountCapabilities{}); err != nil {
		return nil, err
	}
	return proto.Marshal(result)
}

// keep has the socket where the shim looks for it.
func (s start) keep(socket *net.UnixListener) error {
	file, err := socket.File()
	socket.SetUnlinkOnClose(false)
	if err = errors.Join(err, socket.Close()); err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Dup3(int(file.Fd()), socketNumber, unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("number the shim's socket: %w", err)
	}
	if err := os.Symlink(s.socketDir, socketDirLink); err != nil {
		return err
	}
	return shim.AdjustOOMScore(os.Getpid())
}

// become answers and makes this process the shim.
func (s start) become(answer []byte) error {
	if _, err := os.Stdout.Write(answer); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for _, stream := range []int{unix.Stdin, unix.Stdout, unix.Stderr} { // containerd reads until they are closed
		if err := unix.Dup3(int(null.Fd()), stream, 0); err != nil {
			return fmt.Errorf("close the streams to containerd: %w", err)
		}
	}
	os.Args = []string{os.Args[0], "-namespace", s.namespace, "-id", s.id, "-address", s.address}
	name(os.Args)
	runtime.GOMAXPROCS(threads)
	return tellAnswered()
}
