package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// childEnv makes the test binary run one of children.
const childEnv = "TOOLHOST_WORKSPACE_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := children()[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	return cmd
}

// children are what other processes do; the first argument is the workspace.
func children() map[string]func(args []string) error {
	return map[string]func(args []string) error{
		"write":   childWrite,
		"inplace": childInPlace,
		"count":   childCount,
		"naive":   childNaiveCount,
		"denied":  childDenied,
		"hang":    childHang,
	}
}

// block returns file content that shows whether it is whole.
func block(fill byte) []byte {
	const size = 1 << 20
	data := bytes.Repeat([]byte{fill}, size)
	copy(data, "begin\n")
	copy(data[size-5:], "\nend\n")
	return data
}

func isBlock(data []byte) bool {
	return len(data) == 1<<20 && bytes.Equal(data, block(data[len(data)/2]))
}

// childWrite changes the files replace, update and batch forever, in all ways.
func childWrite(args []string) error {
	w, err := workspace.Open(args[0], workspace.Options{})
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for i := 0; ; i++ {
		data := block('a' + byte(i%26))
		_, err1 := w.WriteFile("replace", data, workspace.WriteOptions{})
		err2 := w.Update("update", func([]byte, fs.FileInfo) ([]byte, error) { return data, nil })
		err3 := w.Batch(context.Background(), []workspace.Change{
			{Kind: workspace.Replace, Path: "batch1", Data: data},
			{Kind: workspace.Replace, Path: "batch2", Data: data},
		})
		_, err4 := w.Append("log", []byte("0123456789\n"), workspace.WriteOptions{})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return err
		}
	}
}

// childInPlace writes the file replace forever, in place.
func childInPlace(args []string) error {
	fmt.Println("begun")
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(args[0], "replace"), block('a'+byte(i%26)), 0o644); err != nil {
			return err
		}
	}
}

// turn limits the wait for a contended lock on a machine with a slow disk.
const turn = 5 * time.Minute

// childCount adds 1 to the number in the file count, n times.
func childCount(args []string) error {
	w, err := workspace.Open(args[0], workspace.Options{LockWait: turn})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for range n {
		if err := w.Update("count",
			func(old []byte, _ fs.FileInfo) ([]byte, error) { return plusOne(old) }); err != nil {
			return err
		}
	}
	return nil
}

func plusOne(old []byte) ([]byte, error) {
	v, err := strconv.Atoi(string(old))
	return strconv.AppendInt(nil, int64(v)+1, 10), err
}

// childNaiveCount does the same without a lock.
func childNaiveCount(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	name := filepath.Join(args[0], "count")
	for range n {
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		data, err := plusOne(old)
		if err != nil {
			return err
		}
		temp := fmt.Sprintf("%s.%d", name, os.Getpid())
		if err := errors.Join(os.WriteFile(temp, data, 0o644), os.Rename(temp, name)); err != nil {
			return err
		}
	}
	return nil
}

// childDenied runs as an ordinary user in another user's directory.
func childDenied(args []string) error {
	w, err := workspace.Open(args[0], workspace.Options{})
	if err != nil {
		return err
	}
	_, err1 := w.WriteFile("f", []byte("new"), workspace.WriteOptions{})
	_, err2 := w.WriteFile("new", []byte("new"), workspace.WriteOptions{})
	_, err3 := w.Append("f", []byte("new"), workspace.WriteOptions{})
	_, err4 := w.Mkdir("dir", false)
	_, _, err5 := w.ReadFile("private", 0)
	_, err6 := w.WriteFile("free/theirs", []byte("new"), workspace.WriteOptions{})
	for i, err := range []error{err1, err2, err3, w.Remove("f"), w.Rename("f", "g", false), err4, err5, err6,
		w.Chmod("f", 0o777)} {
		if tool.CodeOf(err) != tool.PermissionDenied {
			return fmt.Errorf("operation %d gave %v", i, err)
		}
	}
	if _, err := w.WriteFile("free/own", []byte("new"), workspace.WriteOptions{}); err != nil {
		return err
	}
	return nil
}

// childHang holds the lock of the workspace's root until its stdin ends.
func childHang(args []string) error {
	w, err := workspace.Open(args[0], workspace.Options{})
	if err != nil {
		return err
	}
	return w.Update("f", func(old []byte, _ fs.FileInfo) ([]byte, error) {
		fmt.Println("locked")
		_, err := os.Stdin.Read(make([]byte, 1))
		return old, err
	})
}
