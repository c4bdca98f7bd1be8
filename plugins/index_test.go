package plugins

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/plugins/internal/pluginclient"
)

// fill gives every field below v a value that is not its zero, so that a field
// which somebody adds and the index forgets is noticed.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.ValueOf(json.RawMessage(`{"type":"object"}`)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.String:
		v.SetString("text\x00ü")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(time.Hour))
	case reflect.Uint64:
		v.SetUint(1 << 63)
	default:
		panic("fill " + v.Type().String())
	}
}

func fullEntry() *cacheEntry {
	e := new(cacheEntry)
	fill(reflect.ValueOf(e).Elem())
	e.Format, e.Protocol = cacheFormat, ProtocolVersion
	return e
}

func TestIndexKeepsEverything(t *testing.T) {
	empty := &cacheEntry{Format: cacheFormat, Protocol: ProtocolVersion, Description: new(pluginclient.Description)}
	entries := map[cacheKey]*indexed{{1}: {cacheEntry: *fullEntry()}, {2}: {cacheEntry: *empty}}
	assert.Equal(t, entries, decodeIndex(encodeIndex(entries)))
}

func TestIndexOfAnotherVersionOrCutShort(t *testing.T) {
	data := encodeIndex(map[cacheKey]*indexed{{1}: {cacheEntry: *fullEntry()}})
	require.NotNil(t, decodeIndex(data))
	for n := range data {
		assert.Nil(t, decodeIndex(data[:n]))
	}
	data[len(data)-1] ^= 1
	assert.Nil(t, decodeIndex(data))
	old := fullEntry()
	old.Protocol = 1
	assert.Empty(t, decodeIndex(encodeIndex(map[cacheKey]*indexed{{1}: {cacheEntry: *old}})))
}

func TestIndexIsWrittenOnceItIsWorthIt(t *testing.T) {
	dir := t.TempDir()
	x := newIndex(dir, "/w")
	x.note(cacheKey{1}, fullEntry())
	x.save()
	assert.NoFileExists(t, x.path)
	for _, key := range []cacheKey{{2}, {3}, {4}} {
		x.note(key, fullEntry())
	}
	x.save()
	again := newIndex(dir, "/w")
	assert.Equal(t, fullEntry(), again.find(cacheKey{3}))
	assert.Nil(t, again.find(cacheKey{5}))
	require.NoError(t, os.Remove(x.path))
	again.save()
	assert.NoFileExists(t, x.path, "nothing has changed")
	assert.Nil(t, newIndex(dir, "/other").find(cacheKey{1}))
	assert.Nil(t, newIndex("", "/w").find(cacheKey{1}))
	files, err := filepath.Glob(dir + "/*")
	require.NoError(t, err)
	assert.Empty(t, files)
}
