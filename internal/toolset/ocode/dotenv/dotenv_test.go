package dotenv_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/toolset/ocode/dotenv"
)

func TestRead(t *testing.T) {
	vars, err := dotenv.Read([]byte("\xef\xbb\xbf# c\r\nA=1\r\nexport B='x y' # why\nC=\"l1\\nl2\"\nD=\"two\n" +
		"lines\"\nE=\nF: yaml\nG=a#b\nH=${A}0\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"A": "1", "B": "x y", "C": "l1\nl2", "D": "two\nlines", "E": "", "F": "yaml",
		"G": "a#b", "H": "10"}, vars)
	_, err = dotenv.Read([]byte("A='open\n"))
	assert.Error(t, err)
}

func TestSet(t *testing.T) {
	for name, c := range map[string]struct{ before, key, value, after string }{
		"empty file":             {"", "A", "1", "A=1\n"},
		"new at the end":         {"B=2\n", "A", "1", "B=2\nA=1\n"},
		"no newline at end":      {"B=2", "A", "1", "B=2\nA=1\n"},
		"in its place":           {"# one\nA=0\n\n# two\nB=2\n", "A", "1", "# one\nA=1\n\n# two\nB=2\n"},
		"comment behind":         {"A=0 # why\n", "A", "1", "A=1 # why\n"},
		"comment behind quote":   {"A='x # y' # why\n", "A", "1", "A=1 # why\n"},
		"export stays":           {"export A=0\n", "A", "1", "export A=1\n"},
		"CRLF stays":             {"A=0\r\nB=1\r\n", "A", "1", "A=1\r\nB=1\r\n"},
		"CRLF for a new one":     {"A=0\r\n", "B", "1", "A=0\r\nB=1\r\n"},
		"several lines":          {"A=\"one\ntwo\"\nB=1\n", "A", "x", "A=x\nB=1\n"},
		"the last one counts":    {"A=1\nA=2\n", "A", "3", "A=1\nA=3\n"},
		"commented out":          {"#A=0\n", "A", "1", "#A=0\nA=1\n"},
		"part of a name":         {"AA=0\n", "A", "1", "AA=0\nA=1\n"},
		"within a value":         {"B=\"\nA=9\n\"\n", "A", "1", "B=\"\nA=9\n\"\nA=1\n"},
		"blanks":                 {"", "A", "a b", "A='a b'\n"},
		"a quote":                {"", "A", "it's", "A=\"it's\"\n"},
		"a dollar":               {"", "A", "$HOME", "A='$HOME'\n"},
		"a comment's sign":       {"", "A", "a #b", "A='a #b'\n"},
		"a path of Windows":      {"", "A", `C:\a b\new`, "A=\"C:\\\\a b\\\\new\"\n"},
		"a backslash at its end": {"A=0 # why\n", "A", `C:\new dir\`, "A=C:\\new dir\\ # why\n"},
		"nothing":                {"A=1\n", "A", "", "A=\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dotenv.Set([]byte(c.before), c.key, c.value)
			require.NoError(t, err)
			assert.Equal(t, c.after, string(got))
			vars, err := dotenv.Read(got)
			require.NoError(t, err)
			assert.Equal(t, c.value, vars[c.key])
		})
	}
}

func TestSetRefuses(t *testing.T) {
	_, err := dotenv.Set([]byte("B=1\n"), "A", "two\nlines\\")
	assert.ErrorIs(t, err, dotenv.ErrValue)
	_, err = dotenv.Set([]byte("B='open\n"), "A", "1")
	require.Error(t, err)
	assert.NotErrorIs(t, err, dotenv.ErrValue, "it is the file that is wrong")
}

func TestDelete(t *testing.T) {
	got, ok, err := dotenv.Delete([]byte("# a\nA=1\nB=\"x\ny\"\n# c\nA=2 # again\nC=3"), "A")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "# a\nB=\"x\ny\"\n# c\nC=3", string(got))
	got, ok, err = dotenv.Delete([]byte("B=1\n"), "A")
	require.NoError(t, err)
	assert.False(t, ok)
	assert.Equal(t, "B=1\n", string(got))
}

// FuzzSet checks that what is set reads back the same, and the rest stays.
func FuzzSet(f *testing.F) {
	f.Add("# c\nA=1 # x\nexport B='y'\n", "v w")
	f.Add("B=\"a\nb\"\n", "it's $HOME \\ \"x\"\n")
	f.Add("A: x\r\n", "\\n")
	f.Fuzz(func(t *testing.T, before, value string) {
		if strings.ContainsRune(value, 0) {
			return
		}
		old, err := dotenv.Read([]byte(before))
		if err != nil || strings.Contains(before, "$") {
			return // a reference to A may change with it
		}
		got, err := dotenv.Set([]byte(before), "A", value)
		if err != nil {
			return // refused rather than written wrong
		}
		vars, err := dotenv.Read(got)
		require.NoError(t, err)
		require.Equal(t, value, vars["A"])
		delete(vars, "A")
		delete(old, "A")
		require.Equal(t, old, vars, "%q", got)
	})
}
