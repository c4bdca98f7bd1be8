package sandbox

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSeatbeltProfile(t *testing.T) {
	for name, test := range map[string]struct {
		policy Policy
		grants grants
	}{
		"workspace": {grants: grants{
			writable: []string{"/Users/u/proj"}, readOnly: []string{"/Users/u/proj/.git/hooks"},
			secrets: []string{"/Users/u/.ssh", "/Users/u/.aws"},
		}},
		"network": {policy: Policy{Network: true}, grants: grants{
			writable: []string{`/Users/u/odd "name" \ here`}, secrets: []string{"/Users/u"},
		}},
		"nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := seatbeltProfile(test.policy, test.grants, nil)
			golden := filepath.Join("testdata", "seatbelt", name+".sb")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}
