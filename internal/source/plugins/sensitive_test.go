package plugins

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSensitiveValues(t *testing.T) {
	schema := `{"type":"object","properties":{
		"token":{"type":"string","writeOnly":true},"plain":{"type":"string"},
		"keys":{"type":"array","items":{"type":"string","writeOnly":true}},
		"account":{"type":"object","writeOnly":true,"properties":{"name":{"type":"string"},"pin":{"type":"integer"}}},
		"hosts":{"type":"object","additionalProperties":{"type":"object","properties":{"password":{"type":"string","writeOnly":true}}}}}}`
	config := `{"token":"t","plain":"p","keys":["k1","k2"],"account":{"name":"n","pin":7},` +
		`"hosts":{"a":{"password":"x","user":"u"}},"other":"o","empty":""}`
	assert.ElementsMatch(t, []string{"t", "k1", "k2", "n", "x"},
		sensitiveValues(json.RawMessage(schema), json.RawMessage(config)))
	assert.Empty(t, sensitiveValues(nil, json.RawMessage(config)))
	assert.Empty(t, sensitiveValues(json.RawMessage("{"), json.RawMessage(config)))
	assert.Empty(t, sensitiveValues(json.RawMessage(`{"additionalProperties":false}`), json.RawMessage(config)))
}
