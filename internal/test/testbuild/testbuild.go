// Package testbuild gives tests the module's programs.
package testbuild

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/test/testfile"
)

// DirVariable names the directory of programs that are already built with the flags of this run. make test
// sets it: linking them again takes as long as many tests.
const DirVariable = "TOOLHOST_TEST_PROGRAMS"

// Programs puts the programs of cmd/, which names gives without it, into dir: those of DirVariable if it is set
// and nothing of flags is wanted of go build, else new ones. Others can run them if they can reach dir.
func Programs(dir string, names []string, flags ...string) error {
	if built := os.Getenv(DirVariable); built != "" && len(flags) == 0 {
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(built, name))
			if err == nil {
				err = testfile.WriteWhole(filepath.Join(dir, name), data, 0o755)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", DirVariable, err)
			}
		}
		return nil
	}
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, flags...)
	for _, name := range names {
		args = append(args, path.Join("github.com/toolhost/toolhost/cmd", name))
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
