package sam

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"latchkey/infra/tools"
)

// SAM runs functions of the runtime provided.al2023 in this image. The stand-in has a name of its own: under the published name, it
// would be in the way of the published image, for other projects too.
const (
	image       = "public.ecr.aws/lambda/provided:al2023-" // the architecture follows
	substitute  = "latchkey/stand-in:provided-"            // the architecture follows
	pullTimeout = time.Minute
	busybox     = "/bin/busybox"
)

// ensureImage makes sure that this machine has an image for the functions. It pulls the published image. If that fails, it makes a
// stand-in with only busybox, to which SAM adds its runtime emulator, and returns the arguments of sam local that name the stand-in.
func ensureImage(ctx context.Context, progress tools.Progress) (arguments []string, err error) {
	isHere := func(name string) bool {
		return exec.CommandContext(ctx, "docker", "image", "inspect", name).Run() == nil
	}
	published, standIn := image+tools.Architecture(runtime.GOARCH), substitute+tools.Architecture(runtime.GOARCH)
	if isHere(published) {
		return nil, nil
	}
	progress("pulling " + published)
	pull, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	errPull := exec.CommandContext(pull, "docker", "pull", "-q", published).Run()
	if errPull == nil {
		return nil, nil
	}
	progress("the image cannot be pulled; using a stand-in of busybox")
	if isHere(standIn) {
		return []string{"--invoke-image", standIn}, nil
	}
	layer, err := busyboxLayer()
	if err != nil {
		return nil, fmt.Errorf("the image %s cannot be pulled (%w), and a stand-in needs a static %s (Debian: busybox-static): %w", published, errPull, busybox, err)
	}
	load := exec.CommandContext(ctx, "docker", "import", "-c", "ENV PATH=/bin", "-c", "WORKDIR /var/task", "-", standIn)
	load.Stdin = bytes.NewReader(layer)
	if out, err := load.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("docker import: %w\n%s", err, out)
	}
	return []string{"--invoke-image", standIn}, nil
}

// busyboxLayer returns a root file system as a tar: busybox under the names of the programs that SAM's layer calls,
// and the folders of a Lambda function.
func busyboxLayer() ([]byte, error) {
	program, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	var errs []error
	add := func(h tar.Header) { errs = append(errs, w.WriteHeader(&h)) }
	for _, dir := range []string{"bin/", "tmp/", "opt/", "var/", "var/task/", "var/runtime/", "var/rapid/", "etc/"} {
		add(tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o777})
	}
	for _, name := range []string{"sh", "mv", "chmod"} {
		add(tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox"})
	}
	add(tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))})
	_, err = w.Write(program)
	err = errors.Join(append(errs, err, w.Close())...)
	return out.Bytes(), err
}
