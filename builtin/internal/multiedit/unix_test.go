package multiedit_test

import "testing"

func editAToB(path string) args { return edits(path, "a", "b") }

func TestFIFODoesNotHang(t *testing.T) { newBench(t).FIFO(editAToB) }

func TestReadOnlyFile(t *testing.T) { newBench(t).ReadOnlyFile(editAToB) }
