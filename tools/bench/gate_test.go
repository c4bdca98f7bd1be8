package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGateMeasuresAgainWhatIsTooMuch(t *testing.T) {
	for name, c := range map[string]struct {
		ours  []time.Duration // of consecutive tries, against 10
		kept  float64
		least float64
		tries int
		fails bool
	}{
		"as it was":               {[]time.Duration{40}, 4, 4, 1, false},
		"a little more":           {[]time.Duration{45}, 4, 4.5, 1, false},
		"disturbed once":          {[]time.Duration{48, 40}, 4, 4, 2, false},
		"a fifth more each time":  {[]time.Duration{50, 48, 49}, 4, 4.8, 3, true},
		"never checked in before": {[]time.Duration{1, 1, 1}, 0, 0.1, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			runs, tries := 0, 0
			b := bar{name: name, rounds: 1,
				ours: func() (time.Duration, error) {
					took := c.ours[min(tries, len(c.ours)-1)]
					if runs++; runs%2 == 0 { // the first warms caches
						tries++
					}
					return took, nil
				},
				base: func() (time.Duration, error) { return 10, nil }}
			least, err := b.measureWithRetries(c.kept, c.kept*1.15, false)
			require.NoError(t, err)
			assert.InDelta(t, c.least, least, 0.001)
			assert.Equal(t, c.tries, tries)
			assert.Equal(t, c.fails, least > c.kept*1.15)
		})
	}
}

func TestRatiosAreReadAsTheyAreWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ratios.txt")
	ratios := map[string]float64{"version / hello-world in Go": 8.15, "tools/list, 50 tools / go-sdk": 12}
	require.NoError(t, writeRatios(file, ratios))
	read, err := readRatios(file)
	require.NoError(t, err)
	assert.Equal(t, ratios, read)
	for _, wrong := range []string{"version 8\n", "NaN version\n", "-1 version\n", "\n"} {
		require.NoError(t, os.WriteFile(file, []byte(wrong), 0o644))
		_, err := readRatios(file)
		assert.ErrorContains(t, err, "is not a ratio", wrong)
	}
}

// The checked-in ratios match the rows.
func TestEachRowHasItsRatio(t *testing.T) {
	ratios, err := readRatios("ratios.txt")
	require.NoError(t, err)
	for _, b := range new(suite).bars() {
		assert.Contains(t, ratios, b.name)
	}
}
