package testneed

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// SeedVariable names the seed of the tests that try things at random.
const SeedVariable = "TOOLHOST_TEST_SEED"

// Seed returns the seed of what a test tries at random: TOOLHOST_TEST_SEED where that is set, or else 1, so that a
// test that fails does so again. With Long it is another each time. The log has it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if Long() {
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv(SeedVariable); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", SeedVariable, err)
		}
		seed = given
	}
	t.Logf("%s=%d", SeedVariable, seed)
	return seed
}
