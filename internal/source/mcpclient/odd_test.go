package mcpclient

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWithoutOdd(t *testing.T) {
	for in, want := range map[string]string{
		`{"tools":[{"name":"a","inputSchema":{}},7],"nextCursor":"x"}`:                                               `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"x"}`,
		`{"resources":[{"uri":"a","name":"n"},{"uri":[]}]}`:                                                          `{"resources":[{"uri":"a","name":"n"}]}`,
		`{"resourceTemplates":[{"uriTemplate":"a","name":"n"},null]}`:                                                `{"resourceTemplates":[{"uriTemplate":"a","name":"n"}]}`,
		`{"prompts":[{"name":5},{"name":"p"}]}`:                                                                      `{"prompts":[{"name":"p"}]}`,
		`{"contents":[{"uri":"a","text":5}]}`:                                                                        `{"contents":[]}`,
		`{"messages":[{"role":"user","content":{"type":"x"}},{"role":"user","content":{"type":"text","text":"t"}}]}`: `{"messages":[{"role":"user","content":{"type":"text","text":"t"}}]}`,
		`{"content":[{"type":"image","data":"no base64!"}]}`:                                                         `{"content":[{"type":"text","text":"{\"type\":\"image\",\"data\":\"no base64!\"}"}]}`,
	} {
		out, odd := withoutOdd(json.RawMessage(in))
		assert.JSONEq(t, want, string(out))
		assert.Equal(t, 1, odd, in)
	}
	for _, same := range []string{`{"tools":[]}`, `{}`, `5`, `{"tools":5}`} {
		out, odd := withoutOdd(json.RawMessage(same))
		assert.Equal(t, same, string(out))
		assert.Zero(t, odd)
	}
}

func TestOddEntriesOfAnEvent(t *testing.T) {
	warned := 0
	c := &httpClient{rawResults: newRawResults(func(odd int) { warned += odd })}
	event := []byte("event: message\r\nid: 5\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[null]}}\r\n\r\n")
	clean := c.messages(eventData(event))
	assert.Equal(t, "event: message\nid: 5\ndata: "+string(clean)+"\n\n", string(withData(event, clean)))
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, string(clean))
	assert.Equal(t, 1, warned)
}
