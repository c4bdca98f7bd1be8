package fork

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/reexec"
)

// How a program in a fork is started: first as a stage that has a mount namespace
// of its own, puts the fork above the workspace there and becomes the program,
// which finds the fork by insideEnv.
const (
	stageName = "fork"
	insideEnv = "TOOLHOST_IN_FORK"
	// Who works in the fork changes it, who looks at it does not.
	stageWorks = "works"
	stageLooks = "looks"
)

// The descriptors of the stage, and where the program has them: beyond those that
// it gives to what it starts.
const (
	stageRoot = 3 + iota
	stageUpper
	stageWork
	stageLock
	lasting = 200
)

// mounting are the capabilities, over what the user owns, with which the overlay is
// mounted: it changes its layers with those of whoever has mounted it.
var mounting = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER,
	unix.CAP_FSETID, unix.CAP_SYS_ADMIN, unix.CAP_MKNOD}

// Enter runs this program anew in the fork, with its own streams, and gives its
// exit code. The workspace at root is the fork there, for the program and all that
// it starts. The fork stays held as long as any of that runs. One that is not held is
// only looked at: nothing in it can be changed, whoever works in it meanwhile.
func (f *Fork) Enter(ctx context.Context, root string, args []string) (code int, err error) {
	if err := reexec.Check(); err != nil {
		return 0, err
	}
	work, lock, mode := workIn(f.dir, f.lock == nil), f.lock, stageWorks
	if lock == nil {
		mode = stageLooks
	} else if err := errors.Join(clearOut(work), os.MkdirAll(work, 0o700)); err != nil {
		return 0, unmade(f.Name, err)
	}
	files := make([]*os.File, 0, 4)
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	for _, dir := range []string{root, filepath.Join(f.dir, upperName), work} {
		file, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return 0, damaged(f.Name, err)
		}
		files = append(files, file)
	}
	if lock == nil {
		lock = files[0] // in the place of one
	}
	cwd, err := os.Getwd()
	if err != nil {
		return 0, NotHere("the working directory: " + err.Error())
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{os.Args[0], "internal", stageName, mode, f.dir, root, cwd}, args...),
		Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: append(slices.Clip(files), lock),
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
			AmbientCaps: mounting,
			Pdeathsig:   syscall.SIGTERM,
		},
	}
	runtime.LockOSThread() // the end of the thread would be that of the parent
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, NotHere("no namespaces can be made: " + err.Error())
	}
	defer forward(ctx, cmd.Process)()
	err = cmd.Wait()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return ended.ExitCode(), nil
	}
	return 0, err
}

// workIn is where the kernel works for the fork in dir; who only looks needs none.
func workIn(dir string, looks bool) string {
	if looks {
		return filepath.Join(dir, upperName)
	}
	return filepath.Join(dir, workName)
}

// forward has signals that end this program end the one in the fork.
func forward(ctx context.Context, p *os.Process) (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		ended := ctx.Done()
		for {
			select {
			case s := <-signals:
				_ = p.Signal(s)
			case <-ended:
				_ = p.Signal(syscall.SIGTERM)
				ended = nil
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}

// Stage is the start of the program in the fork, of the arguments that Enter gives.
// It returns where that fails.
func Stage(args []string) error {
	if len(args) < 4 {
		return errors.New("a stage of a fork is started by toolhost itself")
	}
	looks, dir, root, cwd := args[0] == stageLooks, args[1], args[2], args[3]
	runtime.LockOSThread()
	for i, place := range []string{root, filepath.Join(dir, upperName), workIn(dir, looks)} {
		if err := again(place, stageRoot+i); err != nil {
			return NotHere(place + ": " + err.Error())
		}
	}
	if err := mount(looks); err != nil {
		return NotHere(err.Error())
	}
	if err := os.Chdir(cwd); err != nil {
		return fmt.Errorf("the fork has no directory %s, in which toolhost was started: %w", cwd, err)
	}
	numbers := []string{dir, root}
	kept := []int{stageRoot, stageLock}
	if looks {
		kept[1] = stageRoot
	}
	for _, fd := range kept {
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, lasting)
		if err != nil {
			return err
		}
		numbers = append(numbers, strconv.Itoa(high))
	}
	for fd := stageRoot; fd <= stageLock; fd++ {
		_ = unix.Close(fd)
	}
	numbers = append(numbers, args[0])
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	env := append(os.Environ(), insideEnv+"="+strings.Join(numbers, "\x1f"))
	return syscall.Exec("/proc/self/exe", append([]string{os.Args[0]}, args[4:]...), env)
}

// again opens a directory that is held by a descriptor anew, by its path: the kernel
// takes what was opened in another mount namespace for no layer.
func again(path string, fd int) error {
	fresh, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fresh)
	var is, was unix.Stat_t
	if err := errors.Join(unix.Fstat(fresh, &is), unix.Fstat(fd, &was)); err != nil {
		return err
	}
	if is.Dev != was.Dev || is.Ino != was.Ino {
		return errors.New("another directory has taken its place")
	}
	return unix.Dup3(fresh, fd, unix.O_CLOEXEC)
}

// mount puts the fork above the workspace, in this mount namespace. Who only looks
// has both as layers that nobody changes.
func mount(looks bool) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts cannot be made private: %w", err)
	}
	config, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("overlayfs: %w", err)
	}
	defer unix.Close(config)
	layer := func(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
	layers := [][2]string{{"lowerdir", layer(stageRoot)}, {"upperdir", layer(stageUpper)}, {"workdir", layer(stageWork)}}
	if looks {
		layers = [][2]string{{"lowerdir", layer(stageUpper) + ":" + layer(stageRoot)}}
	}
	for _, option := range layers {
		if err := unix.FsconfigSetString(config, option[0], option[1]); err != nil {
			return fmt.Errorf("overlayfs: %s: %w", option[0], err)
		}
	}
	if err := unix.FsconfigSetFlag(config, "userxattr"); err != nil {
		return fmt.Errorf("overlayfs: userxattr: %w", err)
	}
	if err := unix.FsconfigCreate(config); err != nil {
		return fmt.Errorf("overlayfs takes the state directory's file system for no upper layer: %w", err)
	}
	tree, err := unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("overlayfs: %w", err)
	}
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", stageRoot, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// inside is the fork that this program runs in, read once: what this program starts
// is not told.
var inside = sync.OnceValues(func() (*Fork, string) {
	told := os.Getenv(insideEnv)
	_ = os.Unsetenv(insideEnv)
	parts := strings.Split(told, "\x1f")
	if len(parts) != 5 {
		return nil, ""
	}
	root, err := strconv.Atoi(parts[2])
	lock, failed := strconv.Atoi(parts[3])
	var here unix.Statfs_t
	if err != nil || failed != nil || unix.Statfs(parts[1], &here) != nil || here.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return nil, ""
	}
	unix.CloseOnExec(root)
	f := &Fork{Info: Info{Name: filepath.Base(parts[0])}, dir: parts[0]}
	if parts[4] == stageLooks {
		_ = unix.Close(lock)
	} else {
		f.lock = os.NewFile(uintptr(lock), lockName) // what this program starts holds it too
	}
	if err := f.look(&tree{dir: os.NewFile(uintptr(root), parts[1])}); err != nil {
		return nil, ""
	}
	return f, parts[1]
})

// Inside is the fork that this program runs in, and the workspace that it is one
// of; nil for none.
func Inside() (f *Fork, root string) { return inside() }

// Named is a fork that is not held: what its sessions keep can be looked at.
func Named(state, name string) (*Fork, error) {
	if err := Exists(state, name); err != nil {
		return nil, err
	}
	return &Fork{Info: Info{Name: name}, dir: filepath.Join(state, DirName, name)}, nil
}

// State is where a session in the fork keeps what the host believes.
func (f *Fork) State() string { return filepath.Join(f.dir, stateName) }
