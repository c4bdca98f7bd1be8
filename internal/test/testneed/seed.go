package testneed

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// SeedVariable is the variable with the seed of random tests.
const SeedVariable = "TOOLHOST_TEST_SEED"

// Seed returns the seed of a random test: TOOLHOST_TEST_SEED if set, or else 1, so that a failing test fails
// again. With Long it differs each time. It is logged.
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
