package editfile_test

import (
	"testing"

	"github.com/toolhost/toolhost/builtin/internal/editfile"
)

func editAToB(path string) args { return edit(path, "a", "b") }

func TestFIFODoesNotHang(t *testing.T) { newBench(t, editfile.Options{}).FIFO(editAToB) }

func TestReadOnlyFile(t *testing.T) { newBench(t, editfile.Options{}).ReadOnlyFile(editAToB) }
