package versions_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/versions"
)

func TestConstraints(t *testing.T) {
	for _, c := range []struct {
		constraint string
		yes, no    []string
	}{
		{"", []string{"0.0.1", "1.0.0", "99.0.0"}, []string{"1.0.0-rc.1", "", "one"}},
		{"1.2.3", []string{"1.2.3", "1.2.3+linux"}, []string{"1.2.4", "1.2.2"}},
		{"= 1.2", []string{"1.2.0"}, []string{"1.2.1"}},
		{"!= 1.2.0", []string{"1.2.1", "1.1.0"}, []string{"1.2.0"}},
		{"> 1.2, < 2", []string{"1.2.1", "1.99.0"}, []string{"1.2.0", "2.0.0"}},
		{">=1.2.0,<=1.3.0", []string{"1.2.0", "1.3.0"}, []string{"1.1.9", "1.3.1"}},
		{"~> 1.2", []string{"1.2.0", "1.10.0"}, []string{"1.1.9", "2.0.0"}},
		{"~> 1.2.3", []string{"1.2.3", "1.2.30"}, []string{"1.2.2", "1.3.0"}},
		{"~> 1", []string{"1.0.0", "1.9.0"}, []string{"2.0.0", "0.9.0"}},
		{"^1.2.3", []string{"1.2.3", "1.9.0"}, []string{"2.0.0", "1.2.2"}},
		{"^0.2.3", []string{"0.2.3", "0.2.9"}, []string{"0.3.0"}},
		{">= 1.0.0-beta", []string{"1.0.0-beta", "1.0.0-rc.1", "1.0.0", "2.0.0"},
			[]string{"1.0.0-alpha", "2.0.0-rc.1"}},
	} {
		parsed, err := versions.Parse(c.constraint)
		require.NoError(t, err, c.constraint)
		assert.Equal(t, c.constraint, parsed.String())
		for _, v := range c.yes {
			assert.True(t, parsed.Allows(v), "%q %s", c.constraint, v)
		}
		for _, v := range c.no {
			assert.False(t, parsed.Allows(v), "%q %s", c.constraint, v)
		}
	}
}

func TestConstraintsThatAreNone(t *testing.T) {
	for _, text := range []string{"newest", ">", "1.2.3,", "v1.2.3", "1.2.3 || 2", "=> 1", "1.2.3.4"} {
		_, err := versions.Parse(text)
		assert.Error(t, err, text)
	}
}

func TestNewest(t *testing.T) {
	c, err := versions.Parse("~> 1.0")
	require.NoError(t, err)
	assert.Equal(t, "1.10.0", c.Newest([]string{"1.9.0", "2.0.0", "1.10.0", "1.11.0-rc.1", "junk"}))
	assert.Empty(t, c.Newest([]string{"2.0.0"}))
}

func TestValid(t *testing.T) {
	for _, v := range []string{"1.2.3", "0.0.0", "1.2.3-rc.1", "1.2.3+build"} {
		assert.True(t, versions.Valid(v), v)
	}
	for _, v := range []string{"", "1", "1.2", "v1.2.3", "1.2.3/..", "01.2.3", "1.2.3 "} {
		assert.False(t, versions.Valid(v), v)
	}
}
