package main

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRowsAreWrittenAsByATabwriter(t *testing.T) {
	rows := [][4]string{
		{"NAME", "SOURCE", "RISK", "DESCRIPTION"}, {"a", "plugin ü", "", "Do  it."}, {"a_longer_name", "", "read_only", ""}, {"日本", "x", "y", "日本"},
	}
	var want, got bytes.Buffer
	w := tabwriter.NewWriter(&want, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r[0], r[1], r[2], r[3])
	}
	require.NoError(t, w.Flush())
	out := bufio.NewWriter(&got)
	writeRows(out, rows)
	require.NoError(t, out.Flush())
	assert.Equal(t, want.String(), got.String())
}
