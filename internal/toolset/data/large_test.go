package data_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/data"
)

// The time must grow linearly with the size.
func TestLargeData(t *testing.T) {
	testneed.NotShort(t, "reads large data")
	var b strings.Builder
	b.WriteString("{")
	for i := range 100_000 {
		fmt.Fprintf(&b, "\"key %d\": {\"n\": %d},\n", i, i)
	}
	b.WriteString("\"last\": 1}")
	started := time.Now()
	v, err := data.ReadJSON([]byte(b.String()))
	require.NoError(t, err)
	found, err := data.Query(v, "$[?@.n >= 99999].n")
	require.NoError(t, err)
	assert.Equal(t, []data.Found{{Path: "$['key 99999']['n']", Value: data.Number("99999")}}, found)
	docs, err := data.ReadYAML([]byte(b.String()))
	require.NoError(t, err)
	assert.Equal(t, v, docs[0].Value)
	_, err = data.WriteYAML(v)
	require.NoError(t, err)
	assert.Less(t, time.Since(started), 2*time.Minute)
}
