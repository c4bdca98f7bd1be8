package config

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/tool"
)

func TestPermissions(t *testing.T) {
	assert.Equal(t, []tool.Permission{"file_read", "file_write", "deploy"}, full(t).Granted)
	assert.Nil(t, parse(t, "agent.hcl", ``, LoadOptions{}).Granted, "without the block all is granted")
	none := parse(t, "agent.hcl", `permissions { grant = [] }`, LoadOptions{}).Granted
	assert.NotNil(t, none)
	assert.Empty(t, none)
}
