package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readPage(t *testing.T, s *rpcServer, uri string) (text, next string, size float64) {
	t.Helper()
	m := s.request("resources/read", map[string]any{"uri": uri})
	require.Nil(t, m.Error, uri)
	var result struct {
		Contents []struct {
			Text string
			Meta map[string]any `json:"_meta"`
		}
	}
	require.NoError(t, json.Unmarshal(m.Result, &result))
	require.Len(t, result.Contents, 1)
	next, _ = result.Contents[0].Meta["toolhost/next"].(string)
	return result.Contents[0].Text, next, result.Contents[0].Meta["toolhost/size"].(float64)
}

func TestTheWholeOfALongOutputIsReadInPages(t *testing.T) {
	dir := t.TempDir()
	whole := strings.Repeat("eine Zeile mit Ümläuten und 漢字\n", 40_000)
	plant(t, dir, texts{"big": whole})
	s := serve(t, dir)
	m := s.wait(s.startCall("head", `{"args":"-n 100000 big"}`))
	var result struct {
		Content []struct {
			Type, URI, Name string
			Size            int
		}
	}
	require.NoError(t, json.Unmarshal(m.Result, &result))
	require.Len(t, result.Content, 2)
	link := result.Content[1]
	assert.Equal(t, "resource_link", link.Type)
	assert.Equal(t, len(whole), link.Size)
	assert.Regexp(t, `^toolhost://run/mcp-[A-Z0-9]{10}\.1/stdout$`, link.URI)

	var read strings.Builder
	for uri := link.URI; uri != ""; {
		text, next, size := readPage(t, s, uri)
		assert.EqualValues(t, len(whole), size)
		require.NotEmpty(t, text)
		read.WriteString(text)
		uri = next
	}
	assert.Equal(t, whole, read.String())
	text, next, _ := readPage(t, s, link.URI+"?offset=5&length=5")
	assert.Equal(t, "Zeile", text)
	assert.Equal(t, link.URI+"?offset=10&length=5", next)
	text, _, _ = readPage(t, s, link.URI+"?offset=99999999")
	assert.Empty(t, text, "beyond the end")

	other := serve(t, dir)
	_, next, _ = readPage(t, other, link.URI)
	assert.NotEmpty(t, next, "a link outlives its connection")
	s.call("read_file", `{"path":"big"}`)
	for name, uri := range map[string]string{
		"no such step":    strings.Replace(link.URI, ".1/", ".2/", 1),
		"no such session": "toolhost://run/none.1/stdout",
		"no such stream":  strings.Replace(link.URI, "stdout", "events", 1),
		"out of the runs": "toolhost://run/../state.1/stdout",
		"a bad page":      link.URI + "?offset=-1",
	} {
		assert.NotNil(t, s.request("resources/read", map[string]any{"uri": uri}).Error, name)
	}

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("4711"), 0o600))
	logs := filepath.Join(dir, ".agent", "runs", "planted", "logs")
	require.NoError(t, os.MkdirAll(logs, 0o755))
	require.NoError(t, os.Symlink(secret, filepath.Join(logs, "tool_step_0001_stdout.txt")))
	assert.NotNil(t, s.request("resources/read", map[string]any{"uri": "toolhost://run/planted.1/stdout"}).Error)
}

func TestAShortOutputHasNoLink(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"a": "x\n"})
	s := serve(t, dir)
	assert.Len(t, s.call("head", `{"args":"a"}`).Content, 1)
	m := s.request("resources/templates/list", map[string]any{})
	assert.Contains(t, string(m.Result), `toolhost://run/{id}/{stream}{?offset,length}`)
}
