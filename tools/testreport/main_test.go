package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	const fine = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: the program rg is not installed\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`
	for name, test := range map[string]struct {
		in, out string
		good    bool
	}{
		"nothing ran": {"", "packages: ; tests: \n", false},
		"a skip": {fine,
			"packages: 1 pass; tests: 1 pass, 1 skip\n   1 skipped: the program rg is not installed\n", true},
		"a failure": {fine + `{"Action":"output","Package":"q","Test":"TestC","Output":"    c_test.go:1: wrong\n"}
{"Action":"fail","Package":"q","Test":"TestC"}
{"Action":"fail","Package":"q"}`, "FAIL q \nFAIL q TestC\n    c_test.go:1: wrong\n" +
			"packages: 1 pass, 1 fail; tests: 1 pass, 1 fail, 1 skip\n   1 skipped: the program rg is not installed\n",
			false},
		"a build that fails": {`{"ImportPath":"q","Action":"build-output","Output":"q.go:1: undefined: x\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"fail","Package":"q"}
make: *** [test] Error 1`, "q.go:1: undefined: x\nmake: *** [test] Error 1\nFAIL q \npackages: 1 fail; tests: \n", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := read(strings.NewReader(test.in))
			require.NoError(t, err)
			var out strings.Builder
			r.print(&out)
			assert.Equal(t, test.out, out.String())
			assert.Equal(t, test.good, r.good())
		})
	}
}
