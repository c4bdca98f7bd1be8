package nearest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/text/nearest"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ given, known, want string }{
		{"biuld", "build test", "build"},
		{"Read_File", "read_file write_file", "read_file"},
		{"path", "the_file_path", ""},
		{"dri", "file dir", "dir"},
		{"c", "a", ""},
		{"tol", "toolset tool", "tool"},
		{"cluade", "codex claude-code claude-desktop", "claude-code"},
		{"setpu.py", "setup.cfg setup.py", "setup.py"},
		{"is", "is_x", ""},
		{"xyzzy", "build test", ""},
		{"", "a build", ""},
		{strings.Repeat("a", 65), strings.Repeat("a", 64), ""},
	} {
		assert.Equal(t, c.want, nearest.Name(c.given, strings.Fields(c.known)), c.given)
	}
}

func TestHint(t *testing.T) {
	assert.Equal(t, `Did you mean "agent"? Run list.`, nearest.Hint("agnt", []string{"agent"}, "Run list."))
	assert.Equal(t, `Did you mean "agent"?`, nearest.Hint("agnet", []string{"agent"}, ""))
	assert.Equal(t, "Run list.", nearest.Hint("xyzzy", []string{"agent"}, "Run list."))
}

func TestNamesAreTheMostAlikeFirst(t *testing.T) {
	assert.Equal(t, []string{"tests", "test"}, nearest.Names("tests", []string{"build", "test", "tests", "rest"}, 2))
	assert.Equal(t, []string{"the_file_path"}, nearest.Names("path", []string{"the_file_path"}, 2))
	assert.Len(t, nearest.Names("test", []string{"test1", "test2", "test3", "test4"}, 3), 3)
}

func TestTypo(t *testing.T) {
	for _, c := range []struct{ given, known, want string }{
		{"c", "a", "a"},
		{"dri", "file dir", "dir"},
		{"tol", "toolset tool", "tool"},
		{"str", "string", ""},
		{"file", "title", ""},
		{"client", "client_id", ""},
		{"Verbsoe", "verbose", "verbose"},
	} {
		assert.Equal(t, c.want, nearest.Typo(c.given, strings.Fields(c.known)), c.given)
	}
}
