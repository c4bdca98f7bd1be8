package main

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVendoredLicenses(t *testing.T) {
	dirs := make(map[string]string)
	require.NoError(t, vendored(dirs, filepath.Join("..", "..", filepath.FromSlash(pageVendor))))
	names := slices.Sorted(maps.Keys(dirs))
	require.Len(t, names, 3)
	assert.Regexp(t, `^preact-signals-core@\d.*toolhost-console`, names[0])
	texts, err := licenseTexts(dirs)
	require.NoError(t, err)
	assert.Contains(t, string(texts), "Permission is hereby granted")
	assert.Contains(t, string(texts), names[2])
}
