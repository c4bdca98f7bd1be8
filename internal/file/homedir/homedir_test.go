package homedir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAll(t *testing.T) {
	own := []string{}
	if home := registered(); home != "" {
		own = append(own, home)
	}
	dir := t.TempDir()
	for variable, want := range map[string][]string{
		dir + "/.": append([]string{dir}, own...), "": own, "relative": own, "/": append([]string{"/"}, own...),
	} {
		t.Setenv("HOME", variable)
		assert.Equal(t, want, All(), variable)
	}
	os.Unsetenv("HOME")
	assert.Equal(t, own, All())
	for _, home := range own {
		t.Setenv("HOME", home)
		assert.Equal(t, own, All(), "once")
		assert.True(t, filepath.IsAbs(home))
	}
}
